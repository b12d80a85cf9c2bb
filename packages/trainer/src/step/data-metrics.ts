/** Metrics of a batch and of model outputs: lengths, rewards, staleness, mismatch, entropy. */
import { type AlgorithmNeeds, type Metrics, gatherMetrics } from '@trinity-rft/core';
import type { ModelOutputs } from './forward.js';
import type { PackedBatch } from './pack.js';

/**
 * Returns the number of tokens that the engine reads. If the batch contains demonstrations, also
 * returns the number of model calls that are demonstrations.
 */
export function countMetrics({ tokens, expertMask }: PackedBatch): Metrics {
  const experts = expertMask.reduce((sum, bit) => sum + bit, 0);
  return {
    'perf/total_num_tokens': tokens.rows.reduce((sum, row) => sum + row.tokens.length, 0),
    ...(experts > 0 && { 'sample/expert_count': experts }),
  };
}

/**
 * Returns metrics per model call, with Trinity-RFT's names (`response_length/mean`,
 * `critic/rewards/mean`, …), and `sample/staleness`.
 */
export function dataMetrics(
  { calls, static: { actionMask } }: PackedBatch,
  {
    step,
    maxResponseTokens = Infinity,
  }: { readonly step: number; readonly maxResponseTokens?: number },
): Metrics {
  if (calls.length === 0) return {};
  const rows = calls.map(({ experience, span: { start, end, reward, policyVersion } }) => ({
    response_length: end - start,
    prompt_length: experience.promptLength + start,
    ...(reward !== undefined && { 'critic/score': reward, 'critic/rewards': reward }),
    // The weights after train step s have version s, so the first on-policy step has staleness 0.
    ...(policyVersion >= 0 && { 'sample/staleness': step - 1 - policyVersion }),
  }));
  const cut = calls.filter(({ start, end }) => {
    const trained = actionMask.subarray(start, end).reduce((sum, bit) => sum + bit, 0);
    return trained >= maxResponseTokens;
  });
  return { ...gatherMetrics(rows, ''), 'response_length/clip_ratio': cut.length / calls.length };
}

/**
 * Returns metrics of the entropy and, for rollouts, of the difference between the log-probabilities
 * of sampler and trainer.
 */
export function outputMetrics(
  batch: PackedBatch,
  outputs: ModelOutputs,
  { rollouts }: Pick<AlgorithmNeeds, 'rollouts'>,
): Metrics {
  const { entropy } = outputs;
  return {
    ...(rollouts ? mismatchMetrics(outputs, batch) : {}),
    ...(entropy ? entropyMetrics(entropy, batch) : {}),
  };
}

/**
 * Returns the mean and the maximum of |sampler - trainer|, both for log-probabilities and for
 * probabilities. Covers the trained tokens that the policy sampled and whose log-probabilities the
 * trainer computed.
 */
function mismatchMetrics(
  { currentLogprobs: logprobs, computed }: ModelOutputs,
  batch: PackedBatch,
): Metrics {
  const { oldLogprobs } = batch.static;
  const actionMask = batch.sampledMask;
  let count = 0;
  let maxLog = 0;
  let sumLog = 0;
  let maxProb = 0;
  let sumProb = 0;
  for (let i = 0; i < actionMask.length; i++) {
    if (!actionMask[i] || computed?.[i] === 0) continue;
    const log = Math.abs(logprobs[i]! - oldLogprobs[i]!);
    const prob = Math.abs(Math.exp(logprobs[i]!) - Math.exp(oldLogprobs[i]!));
    count++;
    sumLog += log;
    sumProb += prob;
    maxLog = Math.max(maxLog, log);
    maxProb = Math.max(maxProb, prob);
  }
  if (count === 0) return {};
  return {
    'training/rollout_logprobs_diff_mean': sumLog / count,
    'training/rollout_logprobs_diff_max': maxLog,
    'training/rollout_probs_diff_mean': sumProb / count,
    'training/rollout_probs_diff_max': maxProb,
  };
}

/** Returns the mean entropy (nats) of trained tokens. */
function entropyMetrics(entropy: Float32Array, batch: PackedBatch): Metrics {
  let sum = 0;
  let count = 0;
  for (const [i, value] of entropy.entries()) {
    if (!batch.static.actionMask[i]) continue;
    sum += value;
    count++;
  }
  return count === 0 ? {} : { 'actor/entropy': sum / count };
}
