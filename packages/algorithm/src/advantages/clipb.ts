/**
 * Group-relative advantages that exclude tokens with a negative advantage from training if training
 * on them would reduce the entropy far more than training on the other tokens of the batch would.
 */
import { numberArg } from '@trinity-rft/core';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { clipArgs, clipping } from './shared/clip-tokens.js';
import { trainedMoments } from './shared/whiten.js';

const args = {
  ...clipArgs,
  mu: numberArg(
    2.5,
    { min: 0 },
    'How many standard deviations below the mean effect a token may lie.',
  ),
};

/**
 * Computes advantages as in `grpo_verl` and removes tokens from the action mask. A trained token
 * has the probability p, and the policy has the entropy H at that token. S = p (H + log p), with
 * mean E and population variance v over the batch. Tokens with A < 0 and S - E < -mu sqrt(v) are
 * removed. The function needs entropies, so it is only available in the trainer.
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
  create: (options) =>
    clipping(options, ({ actionMask }, effects) => {
      const { trained, mean, squares } = trainedMoments(effects, actionMask);
      const variance = squares / Math.max(trained, 1);
      return {
        distances: effects.map((effect) => mean - effect),
        deviation: Math.sqrt(variance),
        metrics: { ES: mean, varS: variance },
      };
    }),
});
