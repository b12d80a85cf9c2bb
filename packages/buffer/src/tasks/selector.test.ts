// The order by columns and by results. Expected values of the estimates: Trinity-RFT 0.5.1 and 0.6.0
// (Apache-2.0), InterpolationBetaPREstimator.
import { describe, expect, it } from 'vitest';
import { createTaskSource } from './task-source.js';

const rows = [0.1, 0.9, 0.5, 0.9, 0.3].map((weak, i) => ({
  question: `task ${i}`,
  weak,
  strong: [0.6, 1, 0.5, 0.95, 0.9][i],
}));
const rowsOf = async (source: ReturnType<typeof createTaskSource>, count: number) =>
  (await source.next(count)).map(({ row }) => row);
const observed = (row: number, value: number) => ({ taskset: 'tasks', row, value });

it('offers easy tasks first, again and again', async () => {
  const options = {
    name: 'tasks',
    selectorType: 'offline_easy2hard' as const,
    featureKeys: ['weak', 'strong'],
    totalEpochs: 3,
  };
  const source = createTaskSource(rows, options);
  expect(await rowsOf(source, 7)).toEqual([1, 3, 2, 4, 0, 1, 3]);
  const resumed = createTaskSource(rows, options);
  resumed.restore(source.state());
  expect(await rowsOf(resumed, 3)).toEqual([2, 4, 0]);
  expect(() => createTaskSource(rows, { ...options, featureKeys: ['question'] })).toThrow(
    'Row 0 of task set "tasks" has "task 0" there: data_selector.feature_keys names "question", which must be a number in every row.',
  );
});

it('names an unknown selector', () => {
  const options = { name: 'tasks', selectorType: 'shufle' as 'shuffle' };
  expect(() => createTaskSource(rows, options)).toThrow(
    'Task set "tasks": selectorType is "shufle". Expected sequential, shuffle, random,',
  );
});

describe('difficulty_based', () => {
  const open = (selectorArgs: object, seed = 42) =>
    createTaskSource(rows, {
      name: 'tasks',
      selectorType: 'difficulty_based',
      featureKeys: ['weak', 'strong'],
      selectorArgs,
      seed,
      totalEpochs: Infinity,
    });

  const numbers = (text: unknown) => [
    ...new Float64Array(new Uint8Array(Buffer.from(String(text), 'base64')).buffer),
  ];
  const close = (expected: readonly number[]) => expected.map((value) => expect.closeTo(value, 9));
  const estimatesOf = (source: ReturnType<typeof open>) => {
    const { alphas, betas, rho } = source.state()['selector'] as Record<string, unknown>;
    return { alphas: numbers(alphas), betas: numbers(betas), rho };
  };

  it('takes the tasks nearest to the target, as results say', async () => {
    const source = open({ tau: 0, targetReward: 0.5, m: 8 });
    expect(await rowsOf(source, 2)).toEqual([0, 1]);
    source.feedback?.([observed(0, 0.25), observed(1, 1)]);
    expect(estimatesOf(source)).toEqual({
      alphas: close([3, 9, 1.8, 2.4733332222225926, 1.8799986666711113]),
      betas: close([7, 1, 1.8, 1.1266667777774075, 1.7200013333288888]),
      rho: 0.2,
    });
    expect(await rowsOf(source, 5)).toEqual([2, 4, 3, 0, 1]);
  });

  it('trusts the ability of the model less after it was wrong, for tasks without a result', () => {
    const source = open({ m: 8, rho: 0.4, adaptiveRho: true });
    source.feedback?.([observed(0, 0.25), observed(1, 1)]);
    expect(estimatesOf(source).rho).toBe(0.4);
    source.feedback?.([observed(4, 0)]);
    source.feedback?.([observed(2, 0.5), observed(3, 0.5)]);
    expect(estimatesOf(source)).toEqual({
      alphas: close([
        2.6159992533359118, 8.672404802462971, 6.664, 8.05866644977851, 2.126398293339023,
      ]),
      betas: close([
        7.384000746664091, 1.3275951975370295, 6.664, 5.26933355022149, 9.921601706660978,
      ]),
      rho: 0.2,
    });
  });

  it('draws at random, without repetition, and goes on exactly from its state', async () => {
    for (const selectorArgs of [{ tau: 0.1 }, { tau: 0.3, doSample: true, adaptiveRho: true }]) {
      const source = open(selectorArgs);
      const first = await rowsOf(source, 5);
      expect(first.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
      source.feedback?.([observed(2, 0.5), observed(4, 0)]);
      const resumed = open(selectorArgs);
      resumed.restore(JSON.parse(JSON.stringify(source.state())) as never);
      for (const result of [0.25, 0.75]) {
        const next = await rowsOf(source, 3);
        expect(await rowsOf(resumed, 3)).toEqual(next);
        for (const each of [source, resumed]) each.feedback?.([observed(next[0] ?? 0, result)]);
      }
      expect(await rowsOf(open(selectorArgs, 7), 5)).not.toEqual(first);
    }
  });

  it('prefers what is near the target in proportion', async () => {
    const source = open({ tau: 0.05, targetReward: 1, m: 16, lamb: 0 });
    // Row 3 is solved always, row 0 never.
    source.feedback?.([observed(3, 1), observed(0, 0)]);
    let solved = 0;
    for (let draw = 0; draw < 400; draw++) solved += (await rowsOf(source, 1))[0] === 3 ? 1 : 0;
    expect(solved).toBeGreaterThan(100);
  });
});
