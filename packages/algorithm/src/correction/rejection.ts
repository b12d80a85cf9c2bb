/**
 * Excludes tokens or rows for which the log-probabilities of sampler and trainer differ too much.
 */
import { mean, type Metrics } from '@trinity-rft/core';
import { clampLogRatio } from '../parts/numbers.js';
import { largest, share, sum, type Row } from './rows.js';

/**
 * Estimators by name: k1 = -d, k2 = d^2/2, k3 = e^d - 1 - d, where d is the trainer's
 * log-probability minus the sampler's.
 */
const estimators = {
  k1: (d: number) => -d,
  k2: (d: number) => (d * d) / 2,
  k3: (d: number) => Math.exp(d) - 1 - d,
} as const;

const overRow = { sum, mean, max: largest } as const;

/**
 * Names of verl's rejection options. Options that start with `token` reject single tokens. The
 * others reject a whole row if the sum, mean or maximum of the estimator over the row is out of
 * bounds.
 */
export const rejectionNames = [
  'token_k1',
  'token_k2',
  'token_k3',
  'seq_sum_k1',
  'seq_sum_k2',
  'seq_sum_k3',
  'seq_mean_k1',
  'seq_mean_k2',
  'seq_mean_k3',
  'seq_max_k2',
  'seq_max_k3',
] as const;

export interface RejectionOption {
  readonly name: (typeof rejectionNames)[number];
  /**
   * Upper bound, above 0. For k1, it bounds the ratio e^k1. For k2 and k3, it bounds the value of
   * the estimator.
   */
  readonly upper: number;
  /** Lower bound of the ratio e^k1. Only allowed for k1. @default 1 / upper */
  readonly lower?: number | undefined;
}

interface Rejected {
  /** 1 = the token is trained on. [N] */
  readonly actionMask: Uint8Array;
  readonly metrics: Metrics;
}

/** Removes from the action mask every token that at least one option rejects. */
export function rejectOutliers(
  rows: readonly Row[],
  actionMask: Uint8Array,
  options: readonly RejectionOption[],
): Rejected {
  if (options.length === 0) return { actionMask, metrics: {} };
  const kept = options.map((option) => rows.map((row) => keptTokens(row, option)));
  const all = rows.map((row, r) => row.tokens.map((_, i) => kept.every((each) => each[r]?.[i])));
  const mask = actionMask.slice();
  for (const [r, { tokens }] of rows.entries())
    for (const [i, token] of tokens.entries()) if (!all[r]?.[i]) mask[token] = 0;
  const ofOption = options.map(({ name }, o) => shares(`rollout_rs_${name}`, kept[o] ?? []));
  return { actionMask: mask, metrics: Object.assign({}, ...ofOption, shares('rollout_rs', all)) };
}

function shares(prefix: string, kept: readonly (readonly boolean[])[]): Metrics {
  const flags = kept.flat().map(Number);
  const rows = kept.map((row) => Number(row.every(Boolean)));
  return {
    [`${prefix}_masked_fraction`]: share(flags, (flag) => flag === 0),
    [`${prefix}_seq_masked_fraction`]: share(rows, (flag) => flag === 0),
  };
}

function keptTokens({ logRatios }: Row, option: RejectionOption): readonly boolean[] {
  const [scope, ...rest] = option.name.split('_');
  const estimate = estimators[rest.at(-1) as keyof typeof estimators];
  const values = logRatios.map((logRatio) => estimate(clampLogRatio(logRatio)));
  if (scope === 'token') return values.map((value) => isKept(value, option));
  const whole = overRow[rest[0] as keyof typeof overRow](values);
  return values.map(() => isKept(whole, option));
}

function isKept(value: number, { name, upper, lower }: RejectionOption): boolean {
  if (!name.endsWith('k1')) return value <= upper;
  return value >= Math.log(lower ?? 1 / upper) && value <= Math.log(upper);
}
