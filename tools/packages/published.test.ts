import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { originProblems, readmeProblems, typeProblems } from './published.ts';

const root = mkdtempSync(join(tmpdir(), 'published-'));
const repository = { url: 'git+https://example.org/x.git' };
const bugs = 'https://example.org/x/issues';
writeFileSync(join(root, 'package.json'), JSON.stringify({ repository, bugs }));
afterAll(() => rmSync(root, { recursive: true }));

const good = {
  keywords: ['agents'],
  homepage: 'https://example.org/x/tree/main/packages/a#readme',
  bugs,
  repository: { ...repository, directory: 'packages/a' },
};

describe('originProblems', () => {
  it('has none when all fields lead to the repository of the root', () =>
    expect(originProblems(root, 'packages/a', good)).toEqual([]));

  it.for([
    [{ keywords: [] }, 'keywords'],
    [{ homepage: 'https://example.org' }, 'homepage'],
    [{ bugs: undefined }, 'bugs'],
    [{ repository }, 'repository.directory'],
    [{ repository: undefined }, 'repository.url'],
  ] as const)('names what is wrong: %o', ([change, word]) =>
    expect(originProblems(root, 'packages/a', { ...good, ...change }).join()).toContain(word),
  );
});

describe('readmeProblems', () => {
  it('names links that work in the repository only', () => {
    expect(readmeProblems('[a](../../docs/a.md) and [b](LICENSE)')).toHaveLength(2);
    expect(readmeProblems('[a](https://example.org) and [b](#api)')).toEqual([]);
    expect(readmeProblems('```md\n[a](../a.md)\n```\n')).toEqual([]);
    expect(readmeProblems(undefined)).toEqual(['there is no README.md']);
  });
});

describe('typeProblems', () => {
  it('follows the declarations of an entry point to packages that may be missing', () => {
    const files: Readonly<Record<string, string>> = {
      'dist/index.d.ts': `export type { A } from './a/a.js';\nimport type { Z } from 'zod';`,
      'dist/a/a.d.ts': `export declare const a: import("optional/deep").B;\nimport 'node:fs';`,
      'dist/b.d.ts': `import type { C } from 'other';`,
    };
    const manifest = {
      exports: { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' },
      dependencies: { zod: '4' },
      peerDependencies: { optional: '1' },
      peerDependenciesMeta: { optional: { optional: true } },
    };
    expect(typeProblems(manifest, (file) => files[file])).toEqual([
      'dist/a/a.d.ts imports optional, which may not be installed',
    ]);
  });
});
