/** Tests the loss that an algorithm announces before the log-probabilities are known. */
import { type LossInput, createRandom } from '@trinity-rft/core';
import type { ExpectedLoss } from '@trinity-rft/core/engine';
import { describe, expect, it } from 'vitest';
import { createAlgorithm, type AlgorithmOptions } from '../src/index.js';

const random = createRandom(4);
const size = 60;
const numbers = (from: number, to: number): Float32Array =>
  Float32Array.from({ length: size }, () => from + random.next() * (to - from));
const oldLogprobs = numbers(-3, -1);
const input: LossInput = {
  offsets: Int32Array.of(0, 20, 21, size),
  actionMask: Uint8Array.from({ length: size }, (_, t) => (t % 7 === 3 ? 0 : 1)),
  oldLogprobs,
  // Ratios on both sides of every clip bound, and beyond the second clip for negative advantages.
  currentLogprobs: oldLogprobs.map((value, t) => value + ((t % 9) - 4) / 4),
  advantages: numbers(-1, 1),
  step: 1,
};

/** Gradient by the formulas of `ExpectedLoss`. */
const gradientOf = ({ name, advantages, oldLogprobs: old, low, high }: ExpectedLoss) =>
  input.currentLogprobs.map((logprob, t) => {
    const A = advantages[t] ?? 0;
    if (name === 'linear') return -A;
    const ratio = Math.exp(logprob - (old[t] ?? 0));
    const bounded = Math.min(Math.max(ratio, low ?? 0), high ?? Infinity);
    if (name === 'cispo') return -A * bounded;
    return name === 'ppo' && A * bounded < A * ratio ? 0 : -A * ratio;
  });

const algorithm = (policyLossFn: AlgorithmOptions['policyLossFn'], rest: object = {}) =>
  createAlgorithm({ advantageFn: { name: 'grpo' }, policyLossFn, ...rest });

describe('the loss that is known beforehand', () => {
  it.each([
    [{ name: 'ppo', args: { clipRangeHigh: 0.3 } }, 'token-mean'],
    [{ name: 'ppo', args: { fallbackToPolicyGradient: true } }, 'seq-mean-token-mean'],
    [{ name: 'ppo', args: { lossAggMode: 'seq-mean-token-sum' } }, 'token-mean'],
    [{ name: 'cispo' }, 'seq-mean-token-sum'],
    [{ name: 'importance_sampling' }, 'token-mean'],
    [{ name: 'truncated_importance_sampling', args: { threshold: 1.5 } }, 'token-mean'],
    [{ name: 'opmd', args: { tau: 0.5 } }, 'seq-mean-token-mean'],
    [{ name: 'sft' }, 'token-mean'],
  ] as const)('has the gradient of %j, aggregated by %s', (policyLossFn, lossAggMode) => {
    const { loss, expectedLoss } = algorithm(policyLossFn, { lossAggMode, lossAggNorm: 8 });
    const { gradLogprobs } = loss(input);
    const expected = expectedLoss!(input);
    const found = gradientOf(expected);
    // Engines compute these losses in one pass, and differences from them in a second pass.
    const digits = expected.name === 'linear' ? 30 : 6;
    for (const [t, value] of gradLogprobs.entries()) expect(found[t]).toBeCloseTo(value, digits);
    expect(gradLogprobs.some((value) => value !== 0)).toBe(true);
  });

  it.each([
    [{ name: 'gspo' }, {}],
    [{ name: 'truncated_importance_sampling', args: { level: 'sequence' } }, {}],
    [{ name: 'cispo', args: { enableMaskClip: true } }, {}],
    [{ name: 'ppo', args: { enableSequenceMasking: true } }, {}],
    [{ name: 'ppo' }, { klLossFn: { name: 'k2' } }],
    [{ name: 'ppo' }, { entropyLossFn: { name: 'default' } }],
    [{ name: 'ppo' }, { advantageFn: { name: 'clipb' } }],
    [{ name: 'ppo' }, { rolloutCorrection: { rolloutIs: 'token', rolloutIsThreshold: 2 } }],
  ])('is none where it has another form: %j %j', (policyLossFn, rest) => {
    expect(algorithm(policyLossFn, rest).expectedLoss).toBeUndefined();
  });
});
