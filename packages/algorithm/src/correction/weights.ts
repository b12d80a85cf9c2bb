/**
 * Importance weights that correct for the difference between the sampler's policy and the
 * trainer's.
 */
import { mean, type Metrics } from '@trinity-rft/core';
import { boundedExp } from '../parts/numbers.js';
import { largest, share, smallest, sum, type Row } from './rows.js';

export interface WeightOptions {
  /**
   * Level of the ratio that is used as the weight of a token: the ratio of the token itself, or
   * that of its whole row.
   */
  readonly level: 'token' | 'sequence';
  /** Upper bound, above 0. Without `lower`, larger ratios are reduced to this bound. */
  readonly upper: number;
  /**
   * Lower bound. If set, ratios below this bound or above `upper` get weight 0.
   * @default no lower bound
   */
  readonly lower?: number | undefined;
  /** True if the weights are divided by their mean over tokens or rows. @default false */
  readonly normalize?: boolean | undefined;
}

interface Weights {
  /** Weight of each token; 1 for tokens that were not sampled. [N] */
  readonly weights: Float64Array;
  readonly metrics: Metrics;
}

export function importanceWeights(
  rows: readonly Row[],
  total: number,
  options: WeightOptions,
): Weights {
  const ratios = rows.map((row) => ratiosOf(row, options.level));
  const used = ratios.map((row) => row.map((ratio) => applied(ratio, options)));
  const factor = mean(options.level === 'token' ? used.flat() : used.map(mean));
  const divisor = options.normalize && factor > 1e-8 ? factor : 1;
  const weights = new Float64Array(total).fill(1);
  for (const [r, { tokens }] of rows.entries())
    for (const [i, token] of tokens.entries()) weights[token] = used[r]![i]! / divisor;
  const normalized: Metrics = options.normalize ? { rollout_is_batch_norm_factor: divisor } : {};
  return { weights, metrics: { ...weightMetrics(ratios, used, options), ...normalized } };
}

function ratiosOf({ logRatios }: Row, level: WeightOptions['level']): readonly number[] {
  if (level === 'token') return logRatios.map(boundedExp);
  const whole = boundedExp(sum(logRatios));
  return logRatios.map(() => whole);
}

const applied = (ratio: number, { upper, lower }: WeightOptions): number => {
  if (lower === undefined) return Math.min(ratio, upper);
  return ratio >= lower && ratio <= upper ? ratio : 0;
};

type PerToken = readonly (readonly number[])[];

/**
 * Computes metrics as in verl. At level `sequence`, the minimum, the maximum and the fractions of
 * high and low ratios are over rows instead of tokens, and minimum and maximum are of the ratios
 * before truncation.
 */
function weightMetrics(ratios: PerToken, used: PerToken, options: WeightOptions): Metrics {
  const { level, upper, lower } = options;
  const isToken = level === 'token';
  const units = isToken ? ratios.flat() : ratios.map(([ratio = 1]) => ratio);
  const extremes = isToken ? used.flat() : units;
  const weights = used.flat();
  const squares = mean(weights.map((weight) => weight * weight));
  const isHigh = (ratio: number): boolean => ratio > upper;
  const isLow = (ratio: number): boolean => ratio < (lower ?? 1 / upper);
  const metrics = {
    rollout_is_mean: mean(weights),
    rollout_is_max: largest(extremes),
    rollout_is_min: smallest(extremes),
    rollout_is_std: Math.sqrt(Math.max(0, squares - mean(weights) ** 2)),
    rollout_is_ratio_fraction_high: share(units, isHigh),
    rollout_is_ratio_fraction_low: share(units, isLow),
    rollout_is_eff_sample_size: squares > 0 ? mean(weights) ** 2 / squares : 0,
  };
  if (lower === undefined) return metrics;
  const outside = share(ratios.flat(), (ratio) => isHigh(ratio) || isLow(ratio));
  return { ...metrics, rollout_is_oob_ratio: outside };
}
