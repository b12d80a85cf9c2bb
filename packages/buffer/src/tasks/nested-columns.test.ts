import { expect, it } from 'vitest';
import { withNestedColumns } from './nested-columns.js';

it('finds columns inside of others, and leaves rows alone that have none', () => {
  const rows = [
    { a: { b: { c: 1 } } },
    { 'a.b.c': 2, a: { b: { c: 3 } } },
    { a: 'b' },
    { a: null },
  ];
  expect(withNestedColumns(rows, ['a.b.c', 'a', undefined]).map((row) => row['a.b.c'])).toEqual([
    1,
    2,
    undefined,
    undefined,
  ]);
  expect(withNestedColumns(rows, ['a', undefined])).toBe(rows);
  expect(withNestedColumns([{ a: ['b'] }], ['a.0'])).toEqual([{ a: ['b'], 'a.0': 'b' }]);
  expect(withNestedColumns([{}], ['a.toString'])).toEqual([{}]);
});
