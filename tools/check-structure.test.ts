import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkStructure } from './check-structure.ts';

const manifest = {
  name: '@trinity-rft/core',
  version: '0.1.0',
  description: 'A package.',
  license: 'Apache-2.0',
  type: 'module',
  sideEffects: false,
  files: ['dist'],
  exports: {
    '.': {
      '@trinity-rft/source': './src/index.ts',
      types: './dist/index.d.ts',
      default: './dist/index.js',
    },
    './package.json': './package.json',
  },
  dependencies: { zod: 'catalog:' },
  engines: { node: '>=22.13' },
  publishConfig: { access: 'public' },
};

const index = `/** Not code. */
// Nor this.
export { a, type B } from './a.js';
export type {
  C,
  D,
} from './c.js';
export * from './e.js';
export * as f from './f.js';
`;

describe('checkStructure', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'structure-'));
    write(
      'CONTRIBUTING.md',
      '| Layer | Packages |\n| ----- | --- |\n| l0    | `packages/core` |\n',
    );
    write('packages/core/package.json', JSON.stringify(manifest));
    write('packages/core/turbo.json', JSON.stringify({ extends: ['//'], tags: ['l0'] }));
    write('packages/core/src/index.ts', index);
    for (const file of ['README.md', 'tsconfig.json']) write(`packages/core/${file}`, '');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  it('names strategies that are too long to learn from', () => {
    write('packages/algorithm/src/advantages/long.ts', 'x;\n'.repeat(121));
    write('packages/algorithm/src/advantages/long.test.ts', 'x;\n'.repeat(200));
    write('packages/algorithm/src/kl/short.ts', 'x;\n'.repeat(120));
    expect(checkStructure(root).filter((line) => line.includes('strategy'))).toEqual([
      'packages/algorithm/src/advantages/long.ts: 121 lines; a strategy has at most 120',
    ]);
  });

  it('finds nothing in a package that is as it should be', () => {
    expect(checkStructure(root)).toEqual([]);
  });

  it.each([
    ['a wrong name', { name: '@trinity-rft/other' }, 'the name is'],
    ['another license', { license: 'MIT' }, 'the license is'],
    ['a missing description', { description: '' }, 'no description'],
    ['side effects', { sideEffects: true }, 'sideEffects'],
    [
      'a version range of its own',
      { dependencies: { zod: '^4.0.0' } },
      'depends on zod as "^4.0.0"',
    ],
    [
      'a pinned package of ours',
      { dependencies: { '@trinity-rft/config': 'catalog:' } },
      'write "workspace:*"',
    ],
    [
      'a range of a peer that no test uses',
      { peerDependencies: { ai: '^7.0.0' } },
      'depends on ai as "^7.0.0"',
    ],
    ...['catalog:', '7.1.1'].map((range): [string, object, string] => [
      `${range} as the one version of a peer`,
      { devDependencies: { ai: 'catalog:' }, peerDependencies: { ai: range } },
      'has ai as a peer of one version',
    ]),
    ['an entry point without sources', { exports: { '.': './dist/index.js' } }, 'exports["."]'],
    ['no entry point', { exports: {} }, 'exports has no "."'],
    ['a private package', { publishConfig: {} }, 'publishConfig.access'],
  ])('reports %s', (_, change, message) => {
    write('packages/core/package.json', JSON.stringify({ ...manifest, ...change }));
    expect(checkStructure(root)).toEqual([expect.stringContaining(message)]);
  });

  it('lets peers have a range of versions where the tests use the one of the catalog', () => {
    const change = {
      devDependencies: { ai: 'catalog:' },
      peerDependencies: { ai: '^6.0.0 || ^7.0.0' },
    };
    write('packages/core/package.json', JSON.stringify({ ...manifest, ...change }));
    expect(checkStructure(root)).toEqual([]);
  });

  it.each(['README.md', 'tsconfig.json', 'turbo.json', 'src/index.ts'])(
    'reports a missing %s',
    (file) => {
      rmSync(join(root, 'packages/core', file));
      expect(checkStructure(root)).toEqual([`packages/core: there is no ${file}`]);
    },
  );

  it('reports hooks of modules that test files share', () => {
    const hook = 'afterAll(() => undefined);\n';
    write('packages/core/test/shared.ts', hook);
    write('packages/core/test/own.test.ts', hook);
    expect(checkStructure(root)).toEqual([
      'packages/core/test/shared.ts: a hook of a shared module; use afterFile of test-support',
    ]);
  });

  it('reports blocking calls of tests that never end', () => {
    const ended = "spawnSync('sh', ['-c', 'a'], { timeout: 1, killSignal: 'SIGKILL' });";
    write(
      'packages/core/test/a.test.ts',
      `${ended}\nexecFileSync('sh', { timeout: 1 });\n${ended}\n`,
    );
    expect(checkStructure(root)).toEqual([
      expect.stringContaining('packages/core/test/a.test.ts: a blocking call without `timeout`'),
    ]);
  });

  it('reports waits of tests that a busy machine exceeds', () => {
    const waits = [
      'await vi.waitFor(() => expect(a).toBe(1));',
      'await vi.waitUntil(\n  () => a === 1,\n  10_000,\n);',
      'await vi.waitFor(() => {\n  expect(a).toBe(1);\n}, patience);',
      'vi.waitUntil(() => a === 1, { timeout: 60_000 });',
    ];
    write('packages/core/test/a.test.ts', `${waits.join('\n')}\n`);
    const problem = 'packages/core/test/a.test.ts: a wait that ends after one second';
    expect(checkStructure(root)).toEqual([
      expect.stringContaining(
        `${problem}; use expect.poll or name a timeout: await vi.waitFor(() =>`,
      ),
      expect.stringContaining(problem),
    ]);
  });

  it.each([
    'Object.assign(process, { connected: false });',
    'process.send = undefined;',
    "vi.spyOn(process, 'send');",
  ])('reports a test that cuts the channel of Vitest: %s', (code) => {
    write('packages/core/test/a.test.ts', code);
    expect(checkStructure(root)).toEqual([
      "packages/core/test/a.test.ts: changes the channel of Vitest's process",
    ]);
  });

  it('reports required keys of schemas that accept every value', () => {
    write(
      'packages/core/src/a.ts',
      `z.object({ a: z.unknown(), b: z.unknown().optional(), c: z.array(z.unknown()) });\n`,
    );
    expect(checkStructure(root)).toEqual([
      'packages/core/src/a.ts: a must be present; add .optional()',
    ]);
  });

  it('reports folders that import each other', () => {
    write('packages/core/src/a/x.ts', `import { y } from '../b/y.js';\n`);
    write('packages/core/src/b/y.ts', `import { x } from '../a/x.js';\n`);
    expect(checkStructure(root)).toEqual([
      expect.stringContaining('packages/core/src: a and b import each other'),
    ]);
  });

  it('reports code in index.ts', () => {
    write('packages/core/src/index.ts', `${index}export const g = 1;\n`);
    expect(checkStructure(root)).toEqual([expect.stringContaining('export const g = 1;')]);
  });

  it('reports a tag that differs from the table of layers', () => {
    write('packages/core/turbo.json', JSON.stringify({ extends: ['//'], tags: ['l1'] }));
    expect(checkStructure(root)).toEqual([expect.stringContaining('CONTRIBUTING.md says l0')]);
  });

  it('reports packages that only the table has, or only the disk', () => {
    write('CONTRIBUTING.md', '| l0 | `packages/gone` |\n');
    expect(checkStructure(root)).toEqual([
      expect.stringContaining('packages/core: the table of layers'),
      expect.stringContaining('packages/gone, which does not exist'),
    ]);
  });

  it('reports packages whose versions differ', () => {
    write('CONTRIBUTING.md', '| l0 | `packages/core`, `packages/two` |\n');
    write(
      'packages/two/package.json',
      JSON.stringify({ ...manifest, name: '@trinity-rft/two', version: '0.2.0' }),
    );
    write('packages/two/turbo.json', JSON.stringify({ tags: ['l0'] }));
    for (const file of ['README.md', 'tsconfig.json', 'src/index.ts'])
      write(`packages/two/${file}`, '');
    expect(checkStructure(root)).toEqual([
      'packages/two: the version is 0.2.0, not 0.1.0 as everywhere',
    ]);
  });
});
