/**
 * Verifies that sampler and trainer have the same weights, by comparing log-probabilities of
 * sampled tokens.
 */
import { type Metrics, SyncError } from '@trinity-rft/core';
import type { ModelOutputs } from './forward.js';
import type { PackedBatch } from './pack.js';

/**
 * Limits of the difference between the log-probabilities of sampler and trainer. If two bfloat16
 * programs have the same weights, their log-probabilities differ by 0.003 to 0.015 nats on average,
 * with an effective sample size above 0.998, and single tokens differ by at most 0.2. For a
 * different model, they differ by 2.9 nats, in both directions. A sampler that samples from a part
 * of the vocabulary (top_p, top_k, a grammar) never gives a token a lower probability than the
 * trainer. Weights are therefore considered different only if the trainer's log-probability of some
 * token is also higher by `likelierNats`.
 */
const limits = { meanNats: 0.1, effectiveShare: 0.9, leastTokens: 64, likelierNats: 0.5 } as const;

/**
 * Checks the tokens that were sampled with the newest weights, those after train step `step - 1`:
 * the log-probabilities of sampler and trainer must be similar. Returns the metric
 * `training/rollout_ess`, the effective sample size (sum w)^2 / (n sum w^2) of w = p_trainer /
 * p_sampler, from 0 to 1.
 * @throws SyncError if the log-probabilities differ too much for equal weights
 */
export function assertSamePolicy(
  batch: PackedBatch,
  { currentLogprobs: now, computed }: ModelOutputs,
  step: number,
): Metrics {
  const { oldLogprobs } = batch.static;
  const differences: number[] = [];
  for (const { start, end, span } of batch.calls) {
    if (span.policyVersion !== step - 1) continue;
    for (let i = start; i < end; i++)
      if (batch.sampledMask[i] && computed?.[i] !== 0)
        differences.push((now[i] ?? 0) - (oldLogprobs[i] ?? 0));
  }
  const { length: n } = differences;
  if (n === 0) return {};
  const share = effectiveShare(differences);
  const { mean, error } = momentsOf(differences.map(Math.abs));
  const isOther =
    mean - 2 * error > limits.meanNats &&
    share < limits.effectiveShare &&
    differences.some((value) => value > limits.likelierNats);
  if (n >= limits.leastTokens && isOther)
    throw new SyncError(
      `The sampler does not have the weights of the trainer: of ${n} tokens that it sampled with policy version ${step - 1}, log-probabilities differ by ${mean.toPrecision(3)} nats on average (${limits.meanNats} at most between healthy programs), and their effective sample size is ${share.toPrecision(2)} (at least ${limits.effectiveShare}). Nothing was trained in step ${step}. Start both programs with the same model, and look whether the sampler took the adapter; a temperature that a server applies on its own shows like this, too.`,
      { code: 'SAMPLER_DIFFERS' },
    );
  return { 'training/rollout_ess': share };
}

/**
 * Returns the effective sample size divided by the number of tokens. Importance weights are
 * computed relative to the largest one, so that none overflows.
 * @param logs logarithms of the importance weights
 */
function effectiveShare(logs: readonly number[]): number {
  const largest = logs.reduce((most, value) => Math.max(most, value), -Infinity);
  let sum = 0;
  let squares = 0;
  for (const log of logs) {
    const weight = Math.exp(log - largest);
    sum += weight;
    squares += weight * weight;
  }
  return (sum * sum) / (logs.length * squares);
}

function momentsOf(values: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares) / values.length };
}
