import { expect, test } from 'vitest';
import { alignColumns } from './align-columns.js';

test('columns are as wide as their longest cell, and lines end with text', () => {
  const rows = [
    ['step', 'reward', ''],
    ['100', '0.5', 'best'],
    ['20000', '', ''],
  ];
  expect(alignColumns(rows, '  ')).toEqual(['  step   reward', '  100    0.5     best', '  20000']);
  expect(alignColumns([])).toEqual([]);
});
