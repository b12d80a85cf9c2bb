/** Tests that each loss declares the importance ratios that its gradient reads. */
import type { LossInput } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { policyLossFns } from '../src/policy-losses/table.js';
import { evaluate } from './evaluate.js';
import { variants } from './variants.js';

/** Two rows of two tokens, one good and one bad. */
const onPolicy: LossInput = {
  offsets: Int32Array.of(0, 2, 4),
  actionMask: Uint8Array.of(1, 1, 1, 1),
  currentLogprobs: Float32Array.of(-1, -2, -1, -2),
  oldLogprobs: Float32Array.of(-1, -2, -1, -2),
  advantages: Float32Array.of(1, 1, -1, -1),
  refLogprobs: Float32Array.of(-1, -2, -1, -2),
  entropy: Float32Array.of(1, 1, 1, 1),
  expertMask: Uint8Array.of(0, 0),
  step: 1,
};
/** Log-probabilities whose ratios are on both sides of 1, inside and outside of every clip range. */
const offPolicy = [
  [-1.01, -1.99, -1.02, -2.01],
  [-2, -3, -2, -3],
  [-0.5, -1.5, -0.5, -1.5],
  [-5, -6, -5, -6],
].map((logprobs) => Float32Array.from(logprobs));

it.each(variants)('%s %j', (name, args) => {
  const part = policyLossFns[name].make(name, args as never);
  const gradient = (input: LossInput): readonly number[] => [
    ...evaluate(part, input, { needs: part.needs }).gradLogprobs,
  ];
  const before = gradient(onPolicy);
  const moves = offPolicy.some((oldLogprobs) =>
    gradient({ ...onPolicy, oldLogprobs }).some((value, index) => value !== before[index]),
  );
  expect({ name, args, ratios: part.needs.ratios }).toEqual({ name, args, ratios: moves });
});
