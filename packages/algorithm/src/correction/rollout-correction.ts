/**
 * Corrects a loss for the difference between the sampler's and the trainer's log-probabilities.
 * They differ if the sampler is a different program, uses a different data type, or has older
 * weights.
 */
import type { LossInput, LossOutput, Metrics, PolicyLossFn } from '@trinity-rft/core';
import { mismatchMetrics } from './mismatch-metrics.js';
import { rejectOutliers, type RejectionOption } from './rejection.js';
import { sampledRows } from './rows.js';
import { importanceWeights, type WeightOptions } from './weights.js';

export interface RolloutCorrection {
  /** Options of importance weights. @default no weights */
  readonly weights?: WeightOptions | undefined;
  /** Options that reject tokens or rows. @default no rejection */
  readonly rejections?: readonly RejectionOption[] | undefined;
}

/**
 * Wraps a loss. The loss receives the trainer's log-probabilities x as the old ones, so that its
 * own ratio is 1, and w A instead of the advantage A. The ratio is rho = e^d, where d is x minus
 * the sampler's log-probability, summed over the row if the level is `sequence`. The weight w is
 * min(rho, upper). With `lower`, it is rho within [lower, upper] and 0 outside. With `normalize`, w
 * is divided by its mean. Rejected tokens are removed from the action mask. Same as verl's
 * `rollout_correction` with `bypass_mode: false`, for losses that are linear in A.
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
  /** Weight of each token; undefined if all are 1. [N] */
  readonly weights: Float64Array | undefined;
  /** 1 = the token is still trained on. [N] */
  readonly actionMask: Uint8Array;
  readonly metrics: Metrics;
}

/**
 * Computes the weights and the action mask of a batch. Ignores rows of expert demonstrations,
 * because the policy did not sample them.
 */
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
