import { ConfigError } from '@trinity-rft/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFormula } from './formula.js';

const names = ['a', 'b_2', 'min'];
const value = (text: string): number => parseFormula(text, names)({ a: 2, b_2: 0.5, min: 7 });

describe('formulas', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['8 - 2 - 1', 5],
    ['8 / 2 / 2', 2],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['2 ^ -1', 0.5],
    ['- -a', 2],
    ['.5 * a + 1e1', 11],
    ['0.8*a+0.2*b_2', 1.7],
    ['min(a, b_2, 1)', 0.5],
    ['max(a, min(3, min))', 3],
    ['abs(-1.5) + floor(1.9) + ceil(0.1)', 3.5],
    ['exp(0) + sqrt(4) + log(1)', 3],
    ['1 / 0', Infinity],
  ])('%s is %d', (text, expected) => expect(value(text)).toBeCloseTo(expected, 12));

  it.each([
    ['c + 1', 'names c, which is none of the graders a, b_2, min'],
    ['a +', 'has its end in place of a number or a name'],
    ['(a', 'has its end in place of )'],
    ['a b_2', 'has "b_2" after its end'],
    ['2a', 'has "a" after its end'],
    ['a ** 2', 'has "*" in place of a number or a name'],
    ['a; b_2', 'has ";", which is no part of a formula'],
    ['sqrt(1, 2)', 'gives sqrt 2 numbers; it takes 1'],
    ['eval(1)', 'calls eval, which is none of abs'],
    ['constructor(1)', 'calls constructor'],
    ['toString', 'names toString'],
    ['min()', 'has ")" in place of a number or a name'],
    ['', 'has its end'],
    ['('.repeat(3000), 'has 3000 characters'],
  ])('%s is refused', (text, problem) => {
    expect(() => value(text)).toThrow(ConfigError);
    expect(() => value(text)).toThrow(`The formula ${problem}`);
  });

  it('are read to the end of deep parentheses', () => {
    expect(value(`${'('.repeat(999)}a${')'.repeat(999)}`)).toBe(2);
  });

  it('agree with JavaScript on sums and products', () => {
    const number = fc.nat({ max: 99 }).map(String);
    const tree = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, number, fc.constant('a'), tie('pair'), tie('pair')),
      pair: fc
        .tuple(tie('any'), fc.constantFrom('+', '-', '*', '/'), tie('any'))
        .map(([left, sign, right]) => `(${String(left)} ${sign} ${String(right)})`),
    })).any;
    fc.assert(
      fc.property(tree, (text) => {
        // oxlint-disable-next-line typescript/no-implied-eval -- an independent reading of the same text
        const expected = new Function('a', `return ${String(text)}`)(2) as number;
        expect(value(String(text))).toBe(expected);
      }),
    );
  });
});
