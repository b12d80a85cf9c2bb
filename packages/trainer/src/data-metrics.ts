/** Numbers about the data of one train step: lengths, rewards, advantages, staleness, sampler against trainer. */
import { gatherMetrics, type Metrics } from '@trinity-rft/core';
import type { PackedBatch } from './pack.js';

/** Names as in the original (`response_length/mean`, `critic/rewards/mean`, …) plus `sample/staleness`. Per model call. */
export function dataMetrics(batch: PackedBatch, step: number, maxResponseTokens: number | undefined): Metrics {
  const { calls } = batch;
  const rows = calls.map(({ experience, span: { start, end, reward, policyVersion } }) => ({
    response_length: end - start,
    prompt_length: experience.promptLength + start,
    ...(reward !== undefined && { 'critic/score': reward, 'critic/rewards': reward }),
    // Weights after train step s have version s, so the first on-policy step has staleness 0.
    ...(policyVersion >= 0 && { 'sample/staleness': step - 1 - policyVersion }),
  }));
  const clipped = maxResponseTokens === undefined ? 0 : trainedTokens(batch).filter((count) => count >= maxResponseTokens).length;
  return { ...gatherMetrics(rows, ''), 'response_length/clip_ratio': clipped / calls.length, ...advantageMetrics(batch) };
}

/** Of each call. */
function trainedTokens({ calls, static: { offsets, actionMask } }: PackedBatch): readonly number[] {
  return calls.map((_, row) => actionMask.subarray(offsets[row], offsets[row + 1]).reduce((sum, bit) => sum + bit, 0));
}

function advantageMetrics({ calls, static: { offsets, actionMask, advantages } }: PackedBatch): Metrics {
  if (calls.some(({ experience }) => !experience.advantages)) return {};
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let count = 0;
  let flatRows = 0;
  for (let row = 0; row < calls.length; row++) {
    let flat = true;
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
      if (!actionMask[i]) continue;
      const value = advantages[i]!;
      if (value !== 0) flat = false;
      min = Math.min(min, value);
      max = Math.max(max, value);
      sum += value;
      count++;
    }
    if (flat) flatRows++;
  }
  if (count === 0) return {};
  return {
    'critic/advantages/mean': sum / count,
    'critic/advantages/max': max,
    'critic/advantages/min': min,
    'sample/zero_advantage_ratio': flatRows / calls.length,
  };
}

/** |sampler - trainer| over trained tokens, as log-probabilities and as probabilities. */
export function mismatchMetrics(logprobs: Float32Array, batch: PackedBatch): Metrics {
  const { actionMask, oldLogprobs } = batch.static;
  let count = 0;
  let maxLog = 0;
  let sumLog = 0;
  let maxProb = 0;
  let sumProb = 0;
  for (let i = 0; i < actionMask.length; i++) {
    if (!actionMask[i]) continue;
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

/** Mean entropy (nats) of trained tokens. */
export function entropyMetrics(entropy: Float32Array | undefined, batch: PackedBatch): Metrics {
  if (!entropy) return {};
  let sum = 0;
  let count = 0;
  batch.static.actionMask.forEach((trained, i) => {
    if (!trained) return;
    sum += entropy[i]!;
    count++;
  });
  return count === 0 ? {} : { 'actor/entropy': sum / count };
}
