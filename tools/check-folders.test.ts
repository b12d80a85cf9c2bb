import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkFolders } from './check-folders.ts';

describe('checkFolders', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'folders-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** Writes a package with these files in its `src`, and checks it. */
  function check(files: Readonly<Record<string, string>>): readonly string[] {
    for (const [path, text] of Object.entries({ '../package.json': '{}', ...files })) {
      const file = join(root, 'packages/one/src', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return checkFolders(root);
  }

  it('accepts imports that run one way', () => {
    const problems = check({
      'index.ts': `export * from './a/x.js';`,
      'a/x.ts': `import { y } from '../b/y.js';`,
      'a/z.ts': `import { x } from './x.js';`,
      'b/y.ts': `import { other } from '@trinity-rft/other';`,
    });
    expect(problems).toEqual([]);
  });

  it('reports folders beside each other', () => {
    const problems = check({
      'a/x.ts': `import { y } from '../b/y.js';`,
      'b/y.ts': `import type { X } from '../a/x.js';`,
    });
    expect(problems).toEqual([
      'packages/one/src: a and b import each other: a/x.ts -> b/y.js, b/y.ts -> a/x.js',
    ]);
  });

  it('reports files of one folder', () => {
    const problems = check({
      'a/x.ts': `import { y } from './y.js';`,
      'a/y.ts': `import { x } from './x.js';`,
    });
    expect(problems).toEqual([
      'packages/one/src/a: x and y import each other: a/x.ts -> a/y.js, a/y.ts -> a/x.js',
    ]);
  });

  it('reports a circle of three folders once', () => {
    const problems = check({
      'a/x.ts': `import { y } from '../b/y.js';`,
      'b/y.ts': `import { z } from '../c/z.js';`,
      'c/z.ts': `const x = await import('../a/x.js');`,
    });
    expect(problems).toEqual([expect.stringContaining('a and b and c import each other')]);
  });

  it('reports a folder and the files beside it', () => {
    const problems = check({
      'index.ts': `export * from './a/x.js';`,
      'types.ts': `export interface T {}`,
      'a/x.ts': `import type { T } from '../types.js';`,
    });
    expect(problems).toEqual([
      'packages/one/src: a and own files import each other: a/x.ts -> types.js, index.ts -> a/x.js',
    ]);
  });

  it('reports folders inside a folder, at that folder alone', () => {
    const problems = check({
      'index.ts': `import './a/b/x.js';`,
      'a/b/x.ts': `import { y } from '../c/y.js';`,
      'a/c/y.ts': `import { x } from '../b/x.js';`,
    });
    expect(problems).toEqual([expect.stringMatching(/^packages\/one\/src\/a: b and c import/)]);
  });

  it('leaves tests out', () => {
    const problems = check({
      'a/x.ts': `import { y } from '../b/y.js';`,
      'b/y.test.ts': `import { x } from '../a/x.js';`,
    });
    expect(problems).toEqual([]);
  });
});
