import { describe, expect, it } from 'vitest';
import { measure } from './figures.ts';

const source = `// A comment is no code.
import { b } from '@trinity-rft/two';

/** Doc comments do not lengthen a function. */
export function short(): void {}

class A {
  run(): number {
    return b!;
  }
}

const options = { ...(b && { b }), ...(b ? { b } : {}), list: [...(b ?? [])] };
const arrow = (): string => {
  return '${'x'.repeat(100)}';
};
const expression = (): number => 1;
`;

const manifest = (name: string): string =>
  JSON.stringify({
    name: `@trinity-rft/${name}`,
    exports: {
      '.': { '@trinity-rft/source': './src/index.ts' },
      './package.json': './package.json',
    },
  });

const checkout = {
  'README.md': 'Five words in a row.',
  'docs/reference/config.md':
    'One. <!-- From here on written by `pnpm docs:config`. -->\ntwo three',
  'packages/one/package.json': manifest('one'),
  'packages/one/src/index.ts': `export * from './a.js';\nexport { type T } from './t.js';\n`,
  'packages/one/src/a.ts': source,
  'packages/one/src/a.test.ts': 'const ignored = x!;\n',
  'packages/two/package.json': manifest('two'),
  'packages/two/src/index.ts': 'export const b = 1;\nexport interface Unused {}\n',
};

describe('measure', () => {
  const figures = new Map(
    measure(Object.entries(checkout).map(([path, text]) => ({ path, text }))),
  );

  it.each([
    // The functions are `short`, `run` and `arrow`; `expression` has no block.
    [
      'function length in characters, median',
      String('run(): number {\n    return b!;\n  }'.length),
    ],
    ['functions over 60 lines', '0'],
    ['packages in `packages`', '2'],
    // 14 lines of `a.ts`, and 2 of each entry.
    ['lines outside tests, product', '18'],
    ['lines outside tests, tools and benches', '0'],
    ['lines over 100 columns', '4.8 %'],
    ['`!` per 1,000 code lines', '62.5'],
    ['`...(x && { x })`', '1'],
    // `b` is imported; `short`, `T` and `Unused` are not.
    ['exports that no other package imports', '75.0 % of 4'],
    ['values in an `index.ts`, most', '1'],
    ['words of Markdown', '17'],
    ['words of Markdown, without generated ones', '6'],
    ['files under 25 lines', '3 of 3'],
    ['code lines', '16'],
  ])('counts: %s', (name, value) => expect(figures.get(name)).toBe(value));
});
