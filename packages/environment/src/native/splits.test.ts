import type { TaskError } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { rowsOfSplit } from './splits.js';

const draw = (seed: number) => ({ puzzle: seed % 500 });
const keyOf = (row: Readonly<Record<string, unknown>>) => String(row['puzzle']);
const rows = (split: 'train' | 'eval', count: number, seed = 1) =>
  rowsOfSplit({ split, count, seed }, draw, keyOf).map(keyOf);

it('draws different tasks, the same for the same seed, and none of one split in the other', () => {
  const train = rows('train', 300);
  expect(new Set(train).size).toBe(300);
  expect(rows('train', 300)).toEqual(train);
  expect(rows('train', 300, 2)).not.toEqual(train);
  const evaluation = new Set(rows('eval', 30, 2));
  expect(train.filter((key) => evaluation.has(key))).toEqual([]);
});

it('says how many tasks there are where too many are asked for', () => {
  expect(() => rows('eval', 400)).toThrow(/only \d+ different tasks in split "eval", 400 were/);
});

it('finds as many tasks as it said there are, where some are rare', () => {
  const rare = (seed: number) => ({ puzzle: Math.floor(-400 * Math.log((seed + 1) / 2 ** 32)) });
  const find = (count: number) => rowsOfSplit({ split: 'eval', count, seed: 1 }, rare, keyOf);
  let found = 0;
  try {
    find(1000);
  } catch (error) {
    found = Number((error as TaskError).details['found']);
  }
  expect(found).toBeGreaterThan(100);
  expect(find(found)).toHaveLength(found);
});
