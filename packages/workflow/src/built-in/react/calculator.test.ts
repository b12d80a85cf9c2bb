import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calculate, calculatorTool } from './calculator.js';

describe('calculate', () => {
  it.each([
    ['1+2*3', 7],
    ['(1+2)*3', 9],
    ['-2*-3', 6],
    ['10/4', 2.5],
    ['2 - 3 - 4', -5],
    ['.5 + 1.25', 1.75],
    ['((7))', 7],
  ])('%s is %d', (expression, value) => expect(calculate(expression)).toBe(value));

  it.each([
    ['', 'ends too early'],
    ['1+', 'ends too early'],
    ['(1+2', 'closing parenthesis'],
    ['1 2', '"2" is not expected'],
    ['process.exit()', '"p" is not a number'],
    ['1/0', 'not a finite number'],
    ['1'.repeat(501), '501 characters'],
  ])('rejects %s and says why', (expression, message) =>
    expect(() => calculate(expression)).toThrow(message),
  );

  it('agrees with JavaScript on sums and products of integers', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('+', '-', '*'), fc.nat(999)), {
          minLength: 1,
          maxLength: 8,
        }),
        (parts) => {
          const text = `7${parts.map(([operator, value]) => ` ${operator} ${value}`).join('')}`;
          const products = text
            .replaceAll(' - ', ' + -')
            .split(' + ')
            .map((term) =>
              term.split(' * ').reduce((product, factor) => product * Number(factor), 1),
            );
          expect(calculate(text)).toBe(products.reduce((sum, value) => sum + value, 0));
        },
      ),
    );
  });

  it('answers the tool call with a short number', async () => {
    expect(await calculatorTool.call({ expression: '0.1+0.2' })).toBe('0.3');
  });
});
