/**
 * Group-relative advantages that exclude tokens of bad rollouts if training on them would reduce
 * the entropy far more than is expected under the token's own distribution.
 */
import { numberArg, type BatchAdvantageFn, InvariantError } from '@trinity-rft/core';
import type { AdvantageInput, AdvantageOutput } from '@trinity-rft/core/internal';
import { checkAdvantageInput } from '../parts/check-input.js';
import {
  clipMetrics,
  entropyEffects,
  smallestDeviation,
  trainedSpread,
} from './shared/clip-tokens.js';
import { byDeviation, byGroup } from './shared/group-scores.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  compare: compareArg,
  epsilon: numberArg(1e-6, { min: 0 }, 'Added to the standard deviation of the rewards of a task.'),
  mu: numberArg(
    8.5,
    { min: 0 },
    'How many standard deviations an effect may lie below the value expected from its distribution.',
  ),
  maxFrac: numberArg(
    1e-4,
    { min: 0, max: 1 },
    'Largest share of trained tokens that is left out; at least one token may be.',
  ),
};

/**
 * Computes advantages as in `grpo_verl` and removes tokens from the action mask. D = necs - p (H +
 * log p) for each trained token, where necs is the expectation of p (H + log p) under the token's
 * distribution. sd is the population deviation of D over the batch. Tokens with A < 0 and D > mu sd
 * are removed, but only the max(floor(maxFrac * trained tokens), 1) with the largest D. The function
 * needs entropies and `necs`, so it is only available in the trainer.
 *
 * Metrics: `frac_clipped`, `frac_clipped_pos`, `frac_clipped_neg`, `stdD` (sd), and those of
 * `grpo_verl`.
 */
export const clipv = defineAdvantagePart({
  args,
  doc: {
    summary:
      'grpo that leaves out tokens of negative advantage whose effect on the entropy is far below what their distribution leads to expect.',
    formula:
      'A as grpo; left out: A < 0 and D > mu std(D), D = H sum(p_v^2) + sum(p_v^2 log p_v) - p (H + log p)',
    source: {
      title: 'On the Entropy Dynamics in Reinforcement Fine-Tuning of Large Language Models',
      url: 'https://arxiv.org/abs/2602.03392',
    },
  },
  comparesRuns: true,
  create: ({ compare, epsilon, mu, maxFrac }) => {
    const { batchAdvantage } = byGroup(byDeviation(epsilon), { compare });
    return {
      batchAdvantage: (input) => clip(input, batchAdvantage, mu, maxFrac),
      needs: { entropy: 'value', necs: true },
    };
  },
});

function clip(
  input: AdvantageInput,
  compare: BatchAdvantageFn,
  mu: number,
  maxFrac: number,
): AdvantageOutput {
  checkAdvantageInput(input, ['rewards', 'oldLogprobs', 'entropy']);
  const { actionMask, necs } = input;
  if (!necs)
    throw new InvariantError(
      'The advantage function "clipv" was given no necs; the algorithm declares that it needs them.',
      { code: 'NECS_MISSING' },
    );
  const { advantages, returns, metrics } = compare(input);
  const gaps = entropyEffects(input);
  for (let t = 0; t < gaps.length; t++) if (actionMask[t] === 1) gaps[t] = necs[t]! - gaps[t]!;
  const deviation = Math.sqrt(trainedSpread(gaps, actionMask).variance);
  const kept = actionMask.slice();
  const outliers: number[] = [];
  let trained = 0;
  for (let t = 0; t < kept.length; t++) {
    if (actionMask[t] === 0) continue;
    trained++;
    if (advantages[t]! >= 0 || deviation < smallestDeviation) continue;
    if (gaps[t]! > mu * deviation) outliers.push(t);
  }
  const most = Math.max(Math.floor(maxFrac * trained), 1);
  for (const t of outliers.sort((a, b) => gaps[b]! - gaps[a]!).slice(0, most)) kept[t] = 0;
  return {
    advantages,
    returns,
    actionMask: kept,
    metrics: { ...metrics, ...clipMetrics(actionMask, kept, advantages), stdD: deviation },
  };
}
