import { expect, it } from 'vitest';
import { rowsById } from './updates.js';

it('groups rows by id', () => {
  expect(rowsById(Int32Array.of(7, 3, 7))).toEqual({
    count: 2,
    list: Int32Array.of(7, 3, 0, 2, 3, 0, 2, 1),
  });
});

it('groups the rows of a large micro-batch', () => {
  const { count, list } = rowsById(new Int32Array(1e6));
  expect([count, list.length]).toEqual([1, 1e6 + 3]);
});
