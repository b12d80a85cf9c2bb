import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/maintainers/seeds.md'), 'utf8');

/** Number of code blocks in each seed. */
const blocksOf: Readonly<Record<string, number>> = { '0': 5, '1': 8, '2': 8, '3': 21, '4': 16 };

interface Row {
  readonly seed: string;
  readonly block: number;
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

const paths = (cell = ''): readonly string[] =>
  [...cell.matchAll(/`([\w./-]+\.\w+)`/g)].map(([, path = '']) => path);

const rows: readonly Row[] = page.split(/^## Seed /m).flatMap((section) =>
  [...section.matchAll(/^\| *(\d+) *\|(.*)\|$/gm)].map(([, block, rest = '']) => {
    const [, files, tests] = rest.split('|');
    return {
      seed: section[0] ?? '',
      block: Number(block),
      files: paths(files),
      tests: paths(tests),
    };
  }),
);

describe('docs/maintainers/seeds.md', () => {
  it.each(Object.entries(blocksOf))('has a row for every block of seed %s', (seed, count) => {
    const blocks = rows.filter((row) => row.seed === seed).map(({ block }) => block);
    expect(blocks).toEqual(Array.from({ length: count }, (_, i) => i + 1));
  });

  it('names a file and a test for every block', () => {
    expect(rows.filter(({ files, tests }) => files.length * tests.length === 0)).toEqual([]);
  });

  it('names files that exist, and tests that are tests', () => {
    const named = rows.flatMap(({ files, tests }) => [...files, ...tests]);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const tests = rows.flatMap((row) => row.tests);
    expect(tests.filter((path) => !path.endsWith('.test.ts'))).toEqual([]);
  });
});
