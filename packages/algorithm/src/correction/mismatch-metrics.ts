/** Measures the difference between the log-probabilities of the sampler and of the trainer. */
import { mean, type Metrics } from '@trinity-rft/core';
import { clampLogRatio } from '../parts/numbers.js';
import { largest, smallest, sum, type Row } from './rows.js';

interface Logprobs {
  /** Log-probabilities that the trainer computed. [N] */
  readonly currentLogprobs: Float32Array;
  /** Log-probabilities that the sampler reported. [N] */
  readonly oldLogprobs: Float32Array;
}

/**
 * Computes metrics with verl's names and formulas: the perplexities of both policies, the KL
 * divergence of the sampler's policy from the trainer's, and the chi-squared divergence.
 */
export function mismatchMetrics(
  rows: readonly Row[],
  { currentLogprobs, oldLogprobs }: Logprobs,
): Metrics {
  const surprises = (logprobs: Float32Array): readonly number[] =>
    rows.map(({ tokens }) => -mean(tokens.map((token) => logprobs[token]!)));
  const training = surprises(currentLogprobs);
  const rollout = surprises(oldLogprobs);
  const logRatios = rows.flatMap((row) => row.logRatios);
  const differences = rows.map((row) => -mean(row.logRatios));
  const squares = (values: readonly number[]): number =>
    mean(values.map((value) => Math.exp(2 * clampLogRatio(value)))) - 1;
  return {
    training_ppl: mean(training.map(Math.exp)),
    training_log_ppl: mean(training),
    rollout_ppl: mean(rollout.map(Math.exp)),
    rollout_log_ppl: mean(rollout),
    kl: -mean(logRatios),
    k3_kl: mean(logRatios.map((d) => Math.exp(d) - d - 1)),
    log_ppl_diff: mean(differences),
    log_ppl_abs_diff: mean(differences.map(Math.abs)),
    log_ppl_diff_max: largest(differences),
    log_ppl_diff_min: smallest(differences),
    ppl_ratio: mean(differences.map(Math.exp)),
    chi2_token: squares(logRatios),
    chi2_seq: squares(rows.map((row) => sum(row.logRatios))),
  };
}
