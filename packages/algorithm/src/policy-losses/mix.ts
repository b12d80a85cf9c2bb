/**
 * Policy optimisation on sampled responses, combined in a constant proportion with supervised
 * learning on expert demonstrations.
 */
import { numberArg } from '@trinity-rft/core';
import { composePolicyLoss } from '../parts/policy-loss-part.js';
import { mixture, mixtureArgs } from './mixture.js';
import { sft } from './sft.js';

const args = {
  mu: numberArg(
    0.1,
    { min: 0, max: 1 },
    'Weight of the supervised loss; the policy loss has 1 - mu.',
  ),
  ...mixtureArgs,
};

/**
 * Computes loss = (1 - mu) L_ppo(sampled rows) + mu L_sft(demonstrated rows). Each loss is
 * aggregated over the rows of its kind. With `normalization` `batch_sizes`, it is also multiplied
 * by a factor that depends on batch sizes. A kind of rows that the batch does not contain
 * contributes nothing and has no metrics. Metrics `usual/<metrics of ppo>`, `expert/sft_loss`,
 * `loss`.
 * @see CHORD, arXiv:2508.11408, eq. 4, with a constant mu
 */
export const mix = composePolicyLoss(
  {
    args,
    needs: { rollouts: true, expertMask: true },
    doc: {
      summary:
        'The losses of ppo on sampled rows and of sft on demonstrated rows, in constant proportion.',
      formula: 'loss = (1 - mu) L_ppo(sampled rows) + mu L_sft(demonstrated rows)',
      source: {
        title:
          'On-Policy RL Meets Off-Policy Experts: Harmonizing SFT and RL via Dynamic Weighting',
        url: 'https://arxiv.org/abs/2508.11408',
      },
    },
  },
  (options) =>
    mixture({
      ...options,
      owner: 'mix',
      mu: () => options.mu,
      supervised: sft.loss({}),
      reportsEmptyKinds: false,
    }),
);
