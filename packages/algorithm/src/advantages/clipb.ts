/**
 * Group-relative advantages that exclude tokens of bad rollouts if training on them would reduce
 * the entropy far more than is usual in the batch.
 */
import { numberArg, type BatchAdvantageFn } from '@trinity-rft/core';
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
    2.5,
    { min: 0 },
    'How many standard deviations below the mean effect a token may lie.',
  ),
};

/**
 * Computes advantages as in `grpo_verl` and removes tokens from the action mask. With S = p (H +
 * log p) for each trained token of probability p and entropy H, and mean E and population variance
 * v of S over the batch, tokens with A < 0 and S - E < -mu sqrt(v) are removed. The function needs
 * entropies, so it is only available in the trainer.
 *
 * Metrics: `frac_clipped`, `frac_clipped_pos`, `frac_clipped_neg`, `ES` (E), `varS` (v), and those
 * of `grpo_verl`.
 */
export const clipb = defineAdvantagePart({
  args,
  doc: {
    summary:
      'grpo that leaves out tokens of negative advantage whose effect on the entropy is far below that of the batch.',
    formula: 'A as grpo; left out: A < 0 and S - E(S) < -mu sqrt(var(S)), S = p (H + log p)',
    source: {
      title: 'On the Entropy Dynamics in Reinforcement Fine-Tuning of Large Language Models',
      url: 'https://arxiv.org/abs/2602.03392',
    },
  },
  comparesRuns: true,
  create: ({ compare, epsilon, mu }) => {
    const { batchAdvantage } = byGroup(byDeviation(epsilon), { compare });
    return {
      batchAdvantage: (input) => clip(input, batchAdvantage, mu),
      needs: { entropy: 'value' },
    };
  },
});

function clip(input: AdvantageInput, compare: BatchAdvantageFn, mu: number): AdvantageOutput {
  checkAdvantageInput(input, ['rewards', 'oldLogprobs', 'entropy']);
  const { actionMask } = input;
  const { advantages, returns, metrics } = compare(input);
  const effects = entropyEffects(input);
  const { mean, variance } = trainedSpread(effects, actionMask);
  const deviation = Math.sqrt(variance);
  const kept = actionMask.slice();
  if (deviation >= smallestDeviation) {
    for (let t = 0; t < kept.length; t++)
      if (advantages[t]! < 0 && effects[t]! - mean < -mu * deviation) kept[t] = 0;
  }
  return {
    advantages,
    returns,
    actionMask: kept,
    metrics: { ...metrics, ...clipMetrics(actionMask, kept, advantages), ES: mean, varS: variance },
  };
}
