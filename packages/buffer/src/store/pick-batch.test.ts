import { describe, expect, it } from 'vitest';
import { pickBatch, type BatchRequest, type RowLimits } from './pick-batch.js';
import type { StoredRow } from './row-driver.js';

/** `1/0/2 x3`: three calls of run 2 of task 0 of explore step 1; `@4`: sampled by version 4. */
const rowsOf = (...runs: readonly string[]): readonly StoredRow[] =>
  runs
    .flatMap((text) => {
      const [, run = '', calls = '1', version = '0'] =
        /^(\S+)(?: x(\d+))?(?: @(\d+))?$/.exec(text) ?? [];
      return Array.from({ length: Number(calls) }, (_, step) => ({
        uid: `${run}/${step}/a`,
        policyVersion: Number(version),
      }));
    })
    .map((row, i) => ({ ...row, id: i + 1 }));

const open: RowLimits = { lastExploreStep: Infinity, finished: false };
const pick = (
  rows: readonly StoredRow[],
  request: Partial<BatchRequest>,
  limits: Partial<RowLimits> = {},
): number | undefined => {
  const { used, complete } = pickBatch(
    rows,
    { count: Infinity, unit: 'runs', maxExploreSteps: 1, minPolicyVersion: 0, ...request },
    { ...open, ...limits },
  );
  return complete ? used.length : undefined;
};

const twoSteps = rowsOf('1/0/0 x3', '1/0/1', '1/1/0 x2', '1/1/1 x2', '2/0/0 x5');

describe('a batch', () => {
  it('is all that is left of an explore step', () => {
    expect(pick(twoSteps, {})).toBe(8);
    expect(pick(twoSteps.slice(7), {})).toBe(1);
    expect(pick([], {})).toBeUndefined();
  });

  it('has whole runs or whole tasks, cut evenly', () => {
    expect(pick(twoSteps, { count: 3 })).toBe(4);
    expect(pick(twoSteps, { count: 1 })).toBe(3);
    expect(pick(twoSteps, { count: 1, unit: 'tasks' })).toBe(4);
  });

  it('counts copies of runs, which duplicate_experiences appends', () => {
    const group = ['1/0/0', '1/0/1', '1/0/2', '1/0/3'];
    const rows = rowsOf(...group, ...group);
    expect(pick(rows, { count: 8 })).toBe(8);
    expect(pick(rows, { count: 4 })).toBe(4);
  });

  it('reaches as many explore steps as it may, or until it is full', () => {
    expect(pick(twoSteps, { maxExploreSteps: 2 })).toBe(13);
    expect(pick(twoSteps, { maxExploreSteps: 3 })).toBeUndefined();
    expect(pick(twoSteps, { count: 5, maxExploreSteps: 3 })).toBe(13);
    expect(pick(twoSteps, { maxExploreSteps: 3 }, { finished: true })).toBe(13);
  });

  it('counts experiences whatever they belong to, as the original does', () => {
    const filled = { unit: 'experiences', maxExploreSteps: Infinity } as const;
    expect(pick(twoSteps, { ...filled, count: 9 })).toBe(9);
    expect(pick(twoSteps, { ...filled, count: 14 })).toBeUndefined();
  });

  it('has nothing of explore steps that are not released, unless no more will come', () => {
    const both = { maxExploreSteps: 2 };
    expect(pick(twoSteps, both, { lastExploreStep: 1 })).toBeUndefined();
    expect(pick(twoSteps, both, { lastExploreStep: 1, finished: true })).toBe(13);
    expect(pick(twoSteps, {}, { lastExploreStep: 0 })).toBeUndefined();
  });

  it('leaves out rows that are too old, and looks at none behind it', () => {
    const rows = rowsOf('1/0/0 @1', '1/0/1 @2', '1/1/0 @1', '2/0/0 @1');
    const request = { count: 1, unit: 'runs', maxExploreSteps: 1, minPolicyVersion: 2 } as const;
    const { used, stale } = pickBatch(rows, request, open);
    expect([used, stale].map((some) => some.map(({ id }) => id))).toEqual([[2], [1]]);
  });
});
