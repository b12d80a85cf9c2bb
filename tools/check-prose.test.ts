import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { blemishesOf, checkProse } from './check-prose.ts';

it('finds the openings and words of comments, and leaves code and ordinary sentences alone', () => {
  const text = [
    `/** Whether it is there. */`,
    `/**`,
    ` * Of the model.`,
    ` */`,
    `// Nobody waits here.`,
    `const nobody = 'whoever'; // the caller`,
    `/** Result of one explore step. */`,
    `const url = 'http://nobody';`,
  ].join('\n');
  expect(blemishesOf(text)).toEqual([
    { line: 1, text: 'Whether' },
    { line: 2, text: 'Of' },
    { line: 5, text: 'Nobody' },
  ]);
});

it('looks at every text of a page', () => {
  expect(blemishesOf(`label: 'Begin anew',`, /[\s\S]+/g)).toEqual([
    { line: 1, text: 'Begin anew' },
  ]);
});

it('names the place of each finding, and of each package that does not exist', () => {
  const root = mkdtempSync(join(tmpdir(), 'prose-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'packages/one/src'), { recursive: true });
  writeFileSync(join(root, 'packages/one/package.json'), '{ "name": "@trinity-rft/one" }');
  const text = `/** Of it. */\nconst advice = 'npm install @trinity-rft/${'two'} @trinity-rft/one';\n`;
  writeFileSync(join(root, 'packages/one/src/a.ts'), text);
  expect(checkProse(root)).toEqual([
    'packages/one/src/a.ts:1: "Of" reads badly; reword it',
    'packages/one/src/a.ts:2: there is no package @trinity-rft/two',
  ]);
});
