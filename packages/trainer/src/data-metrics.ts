/** Numbers about the data of one train step: lengths, rewards, advantages, staleness, sampler against trainer. */
import { actionCount, gatherMetrics, responseLength, type Experience, type ForwardPass, type Metrics } from '@trinity-rft/core';
import type { PackedBatch } from './pack.js';

/** Names as in the original (`response_length/mean`, `critic/rewards/mean`, …) plus `sample/staleness`. */
export function dataMetrics(experiences: readonly Experience[], step: number, maxResponseTokens: number | undefined): Metrics {
  const rows = experiences.map((experience) => ({
    response_length: responseLength(experience),
    prompt_length: experience.promptLength,
    ...(experience.reward !== undefined && { 'critic/score': experience.reward, 'critic/rewards': experience.reward }),
    // Weights after train step s have version s, so the first on-policy step has staleness 0.
    ...(experience.policyVersion >= 0 && { 'sample/staleness': step - 1 - experience.policyVersion }),
  }));
  const clipped =
    maxResponseTokens === undefined ? 0 : experiences.filter((experience) => actionCount(experience) >= maxResponseTokens).length;
  return { ...gatherMetrics(rows, ''), 'response_length/clip_ratio': clipped / experiences.length, ...advantageMetrics(experiences) };
}

function advantageMetrics(experiences: readonly Experience[]): Metrics {
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let count = 0;
  let flatRows = 0;
  for (const { advantages, actionMask } of experiences) {
    if (!advantages) return {};
    let flat = true;
    for (let i = 0; i < advantages.length; i++) {
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
    'sample/zero_advantage_ratio': flatRows / experiences.length,
  };
}

/** |sampler - trainer| over trained tokens, as log-probabilities and as probabilities. */
export function mismatchMetrics(pass: ForwardPass, batch: PackedBatch): Metrics {
  const { actionMask, oldLogprobs } = batch.static;
  let count = 0;
  let maxLog = 0;
  let sumLog = 0;
  let maxProb = 0;
  let sumProb = 0;
  for (let i = 0; i < actionMask.length; i++) {
    if (!actionMask[i]) continue;
    const log = Math.abs(pass.logprobs[i]! - oldLogprobs[i]!);
    const prob = Math.abs(Math.exp(pass.logprobs[i]!) - Math.exp(oldLogprobs[i]!));
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
export function entropyMetrics(pass: ForwardPass, batch: PackedBatch): Metrics {
  if (!pass.entropy) return {};
  let sum = 0;
  let count = 0;
  batch.static.actionMask.forEach((trained, i) => {
    if (!trained) return;
    sum += pass.entropy![i]!;
    count++;
  });
  return count === 0 ? {} : { 'actor/entropy': sum / count };
}
