/**
 * Corrects a loss for samplers whose log-probabilities are not those of the trainer: another
 * program, another number format, older weights.
 */
import type { LossInput, LossOutput, Metrics, PolicyLossFn } from '@trinity-rft/core';
import { mismatchMetrics } from './mismatch-metrics.js';
import { rejectOutliers, type RejectionOption } from './rejection.js';
import { sampledRows } from './rows.js';
import { importanceWeights, type WeightOptions } from './weights.js';

export interface RolloutCorrection {
  /** @default tokens are not weighed */
  readonly weights?: WeightOptions | undefined;
  /** @default nothing is left out */
  readonly rejections?: readonly RejectionOption[] | undefined;
}

/**
 * The loss sees the trainer's log-probabilities x as the old ones, so that its own ratio is 1, and w A
 * in place of the advantage A: w = min(rho, upper), or rho within [lower, upper] and else 0, of
 * rho = e^d with d = x - log-probability by the sampler, summed over the row at level `sequence`. As
 * `rollout_correction` of verl with `bypass_mode: false`, for losses that are linear in A.
 * @see https://richardli.xyz/rl-collapse; https://fengyao.notion.site/off-policy-rl
 */
export const correctedLoss =
  (loss: PolicyLossFn, correction: RolloutCorrection): PolicyLossFn =>
  (input): LossOutput => {
    const { weights, actionMask, metrics } = correctionOf(input, correction);
    const advantages = weights
      ? input.advantages.map((value, i) => value * weights[i]!)
      : input.advantages;
    const oldLogprobs = input.currentLogprobs;
    return { ...loss({ ...input, actionMask, oldLogprobs, advantages }), correction: metrics };
  };

interface Correction {
  /** Undefined: each is 1. [N] */
  readonly weights: Float64Array | undefined;
  /** Tokens that are still trained. [N] */
  readonly actionMask: Uint8Array;
  readonly metrics: Metrics;
}

/** Rows of experts were not sampled, and stay as they are. */
export function correctionOf(
  input: Pick<
    LossInput,
    'offsets' | 'actionMask' | 'currentLogprobs' | 'oldLogprobs' | 'expertMask'
  >,
  { weights: options, rejections = [] }: RolloutCorrection,
): Correction {
  const rows = sampledRows(input);
  if (rows.length === 0) return { weights: undefined, actionMask: input.actionMask, metrics: {} };
  const total = input.currentLogprobs.length;
  const weighed = options && importanceWeights(rows, total, options);
  const { actionMask, metrics } = rejectOutliers(rows, input.actionMask, rejections);
  return {
    weights: weighed?.weights,
    actionMask,
    metrics: { ...mismatchMetrics(rows, input), ...weighed?.metrics, ...metrics },
  };
}
