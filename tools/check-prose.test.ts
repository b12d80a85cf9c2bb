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

it('allows a package what it had, and no more', () => {
  const root = mkdtempSync(join(tmpdir(), 'prose-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'packages/one/src'), { recursive: true });
  mkdirSync(join(root, 'tools'));
  writeFileSync(join(root, 'packages/one/package.json'), '{}');
  writeFileSync(join(root, 'packages/one/src/a.ts'), '/** Of it. */\n/** By it. */\n');
  expect(checkProse(root)[0]).toContain('packages/one: 2 comments read badly; at most 0 do');
  writeFileSync(join(root, 'tools/prose-allowance.json'), '{ "packages/one": 2 }');
  expect(checkProse(root)).toEqual([]);
});
