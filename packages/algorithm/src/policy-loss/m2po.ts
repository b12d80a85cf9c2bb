/** Importance-weighted policy gradient over a batch whose second moment is bounded. */
import { numberArg } from '@trinity-rft/core';
import { exponentials } from '../exponential.js';
import { tokenTerm } from '../token-term.js';
import { clamp, definePolicyLoss } from './define.js';
import { trustMask } from './m2po-mask.js';

const args = {
  m2Threshold: numberArg(0.04, { min: 0 }, 'Largest mean of d^2 over the tokens that the advantage pushes further away.'),
  logRatioClip: numberArg(20, { above: 0, max: 80 }, 'Log-ratios beyond this count as this where they are exponentiated.'),
};

/**
 * l = -A e^clip(d, -clip, clip) for tokens that {@link trustMask} keeps, 0 for the others; every trained token stays in the
 * denominator. dl/dx = -A e^clip(d): straight through the clip. The mask is a constant of the gradient and depends on the
 * whole optimizer batch.
 *
 * Metrics `pg_loss`, `ppo_kl` (mean of -clip(d)), `ratio/mean`, `m2_before`, `m2_after` (mean of d^2 over the tokens in
 * question), `masked_fraction`, `trust_region_fraction` (of trained tokens).
 * @see M2PO, arXiv:2510.01161, algorithm 1
 */
export const m2po = definePolicyLoss({
  args,
  doc: {
    summary: 'Second-moment trust policy optimisation: leaves out the few tokens that make a stale batch diverge.',
    formula:
      'l = -A e^clip(d) where kept; kept: the longest prefix by rising d^2, of tokens with A d > 0, whose mean of d^2 <= m2_threshold',
    source: {
      title: 'Prosperity before Collapse: How Far Can Off-Policy RL Reach with Stale Data on LLMs?',
      url: 'https://arxiv.org/abs/2510.01161',
    },
  },
  create: ({ m2Threshold, logRatioClip: most }) =>
    tokenTerm({
      open: (input) => ({ ...trustMask(input, m2Threshold), ratios: 0, kl: 0 }),
      visit: ({ size, at, d, advantage, exp: ratio, value, gradient }, state) => {
        const { kept } = state;
        exponentials(d, size, ratio, most);
        let [ratios, kl] = [0, 0];
        for (let i = 0; i < size; i++) {
          value[i] = kept[at[i]!] === 1 ? -advantage[i]! * ratio[i]! : 0;
          gradient[i] = value[i]!;
          ratios += ratio[i]!;
          kl -= clamp(d[i]!, -most, most);
        }
        state.ratios += ratios;
        state.kl += kl;
      },
      metrics: (loss, mean, { metrics, ratios, kl }) => ({ pg_loss: loss, ppo_kl: mean(kl), 'ratio/mean': mean(ratios), ...metrics }),
    }),
});
