/**
 * Group-relative advantages that exclude tokens with a negative advantage from training if training
 * on them would reduce the entropy far more than expected for a token sampled from the same
 * distribution.
 */
import { numberArg, InvariantError } from '@trinity-rft/core';
import { defineAdvantagePart } from '../parts/advantage-part.js';
import { clipArgs, clipping } from './shared/clip-tokens.js';
import { trainedMoments } from './shared/whiten.js';

const args = {
  ...clipArgs,
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
 * Computes advantages as in `grpo_verl` and removes tokens from the action mask. For each trained
 * token of probability p, where the policy has the entropy H, D = necs - p (H + log p). necs is the
 * expectation of p (H + log p) over the token distribution at that position. sd is the population
 * standard deviation of D over the batch. Tokens with A < 0 and D > mu sd are candidates. Of these,
 * at most max(floor(maxFrac * trained tokens), 1) tokens with the largest D are removed. The
 * function needs entropies and `necs`, so it is only available in the trainer.
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
  create: ({ maxFrac, ...options }) =>
    clipping(
      options,
      ({ actionMask, necs }, effects) => {
        if (!necs)
          throw new InvariantError(
            'The advantage function "clipv" was given no necs; the algorithm declares that it needs them.',
            { code: 'NECS_MISSING' },
          );
        const gaps = effects.map((effect, t) => necs[t]! - effect);
        const { trained, squares } = trainedMoments(gaps, actionMask);
        const deviation = Math.sqrt(squares / Math.max(trained, 1));
        const most = Math.max(Math.floor(maxFrac * trained), 1);
        return { distances: gaps, deviation, most, metrics: { stdD: deviation } };
      },
      { necs: true },
    ),
});
