import { readFileSync } from 'node:fs';
import type { LossInput } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { createAlgorithm } from '../registry/create-algorithm.js';
import type { RejectionOption } from './rejection.js';
import { correctionOf, type RolloutCorrection } from './rollout-correction.js';

interface Case {
  readonly rollout_is: 'token' | 'sequence' | null;
  readonly rollout_is_threshold: number | string;
  readonly rollout_is_batch_normalize: boolean;
  readonly rollout_rs: string | null;
  readonly rollout_rs_threshold: number | string | null;
  readonly weights: readonly number[] | null;
  readonly mask: readonly number[];
  readonly metrics: Readonly<Record<string, number>>;
}

interface Golden {
  readonly lengths: readonly number[];
  readonly mask: readonly number[];
  readonly current: readonly number[];
  readonly sampled: readonly number[];
  readonly cases: readonly Case[];
}

const file = new URL('../../test/fixtures/verl-rollout-correction.json', import.meta.url);
const golden = JSON.parse(readFileSync(file, 'utf8')) as Golden;

let end = 0;
const batch = {
  offsets: Int32Array.from([0, ...golden.lengths.map((length) => (end += length))]),
  actionMask: Uint8Array.from(golden.mask),
  currentLogprobs: Float32Array.from(golden.current),
  oldLogprobs: Float32Array.from(golden.sampled),
};

const range = (threshold: number | string): { upper: number; lower?: number } => {
  const [first = 1, second] = String(threshold).split('_').map(Number);
  return second === undefined ? { upper: first } : { lower: first, upper: second };
};

function settingsOf(one: Case): RolloutCorrection {
  const thresholds = String(one.rollout_rs_threshold).split(',');
  const names = (one.rollout_rs ?? '').split(',').filter((name) => name !== '');
  return {
    weights: one.rollout_is
      ? {
          level: one.rollout_is,
          ...range(one.rollout_is_threshold),
          normalize: one.rollout_is_batch_normalize,
        }
      : undefined,
    rejections: names.map((name, i) => ({
      name: name as RejectionOption['name'],
      ...range(thresholds[i] ?? thresholds[0] ?? ''),
    })),
  };
}

const largestDifference = (a: readonly number[], b: readonly number[]): number =>
  a.length === b.length ? Math.max(0, ...a.map((x, i) => Math.abs(x - b[i]!))) : Infinity;

describe('rollout correction, as verl 0.9.1 computes it', () => {
  const named = golden.cases.map(
    (one) =>
      [
        `${one.rollout_is} ${one.rollout_is_threshold} ${one.rollout_is_batch_normalize} ${one.rollout_rs} ${one.rollout_rs_threshold}`,
        one,
      ] as const,
  );
  it.each(named)('%s', (_, one) => {
    const { weights, actionMask, metrics } = correctionOf(batch, settingsOf(one));
    expect([...actionMask]).toEqual(one.mask);
    const sampled = (values: ArrayLike<number>): readonly number[] =>
      Array.from(values).filter((_, i) => golden.mask[i] === 1);
    const difference = largestDifference(sampled(weights ?? []), sampled(one.weights ?? []));
    expect(difference).toBeLessThan(1e-6);
    expect(weights === undefined).toBe(one.weights === null);
    const names = Object.keys(metrics);
    const theirs = names.map((name) => one.metrics[name] ?? Number.NaN);
    expect(largestDifference(Object.values(metrics), theirs)).toBeLessThan(1e-5);
  });
});

describe('the loss of a corrected algorithm', () => {
  const input: LossInput = {
    ...batch,
    advantages: Float32Array.from(golden.mask, (_, i) => (i % 3) - 1),
    step: 1,
  };
  const ppo = { advantageFn: { name: 'grpo' }, policyLossFn: { name: 'ppo' } } as const;

  it('is the policy gradient with truncated importance weights', () => {
    const rolloutCorrection = { weights: { level: 'token', upper: 1.3 } } as const;
    const { gradLogprobs, correction } = createAlgorithm({ ...ppo, rolloutCorrection }).loss(input);
    const truncated = createAlgorithm({
      ...ppo,
      policyLossFn: { name: 'truncated_importance_sampling', args: { threshold: 1.3 } },
    }).loss(input);
    for (const [i, value] of truncated.gradLogprobs.entries())
      expect(gradLogprobs[i]).toBeCloseTo(value, 6);
    expect(correction?.['rollout_is_max']).toBeCloseTo(1.3, 6);
  });

  it('is 0 where every token is left out, and where none was sampled', () => {
    const rejections = [{ name: 'seq_max_k2', upper: 1e-9 }] as const;
    const { loss } = createAlgorithm({ ...ppo, rolloutCorrection: { rejections } });
    const none = { ...input, actionMask: new Uint8Array(input.actionMask.length) };
    for (const one of [input, none]) {
      const { gradLogprobs, loss: value } = loss(one);
      expect([value, ...gradLogprobs].every((number) => number === 0)).toBe(true);
    }
  });

  it('needs something that was sampled', () => {
    const sft = { policyLossFn: { name: 'sft' }, rolloutCorrection: {} };
    expect(() => createAlgorithm(sft)).toThrow('nothing is sampled');
  });
});
