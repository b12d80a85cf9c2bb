import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkRings } from './check-rings.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rings-'));
  for (const name of ['core', 'launcher', 'studio'])
    write(`packages/${name}/package.json`, JSON.stringify({ name: `@trinity-rft/${name}` }));
  write('CONTRIBUTING.md', 'The core ring is `core` and `launcher`. The rest is the outer ring.');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

it('accepts public entry points, tests, and the one file of the composition root', () => {
  write('packages/studio/src/a.ts', `import { a } from '@trinity-rft/core/engine';`);
  write('packages/studio/src/a.test.ts', `import { a } from '@trinity-rft/core/internal';`);
  write('packages/launcher/src/b.ts', `import { b } from '@trinity-rft/core/internal';`);
  write('packages/launcher/src/outer/outer.ts', `export { c } from '@trinity-rft/studio';`);
  expect(checkRings(root)).toEqual([]);
});

it('refuses what is internal in the outer ring, and the outer ring in the core ring', () => {
  write('packages/studio/src/a.ts', `const { a } = await import('@trinity-rft/core/internal');`);
  write('packages/studio/page/p.tsx', `import type { P } from '@trinity-rft/core/internal';`);
  write('packages/core/src/b.ts', `export { b } from '@trinity-rft/studio/parts';`);
  write('packages/launcher/src/c.ts', `import { c } from '@trinity-rft/launcher';`);
  expect(checkRings(root)).toEqual([
    'packages/core/src/b.ts: the core ring imports @trinity-rft/studio/parts of the outer ring',
    'packages/launcher/src/c.ts: imports its own package as @trinity-rft/launcher',
    'packages/studio/src/a.ts: the outer ring imports @trinity-rft/core/internal, which is no public entry point',
    'packages/studio/page/p.tsx: the outer ring imports @trinity-rft/core/internal, which is no public entry point',
  ]);
});

it('names a package of the core ring that does not exist', () => {
  write('CONTRIBUTING.md', 'The core ring is `core`, `kernel`.');
  expect(checkRings(root)[0]).toContain('packages/kernel, which does not exist');
});
