/** Importance-weighted policy gradient over a batch whose second moment is bounded. */
import { numberArg } from '@trinity-rft/core';
import { exponentials } from '../parts/exponential.js';
import type { TokenBlock } from '../parts/token-block.js';
import { tokenTerm } from '../parts/token-term.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { trustMask } from './m2po-mask.js';

const args = {
  m2Threshold: numberArg(
    0.04,
    { min: 0 },
    'Largest mean of d^2 over the tokens that the advantage pushes further away.',
  ),
  logRatioClip: numberArg(
    20,
    { above: 0, max: 80 },
    'Log-ratios beyond this count as this where they are exponentiated.',
  ),
};

/**
 * l = -A e^clip(d, -clip, clip) for tokens that {@link trustMask} keeps, 0 for the others; every
 * trained token stays in the denominator. dl/dx = -A e^clip(d): straight through the clip. The mask
 * is a constant of the gradient and depends on the whole optimizer batch.
 *
 * Metrics `pg_loss`, `ppo_kl` (mean of -clip(d)), `ratio/mean`, `m2_before`, `m2_after` (mean of
 * d^2 over the tokens in question), `masked_fraction`, `trust_region_fraction` (of trained tokens).
 * @see M2PO, arXiv:2510.01161, algorithm 1
 */
export const m2po = definePolicyLoss({
  args,
  doc: {
    summary:
      'Second-moment trust policy optimisation: leaves out the few tokens that make a stale batch diverge.',
    formula:
      'l = -A e^clip(d) where kept; kept: the longest prefix by rising d^2, of tokens with A d > 0, whose mean of d^2 <= m2_threshold',
    source: {
      title: 'Prosperity before Collapse: How Far Can Off-Policy RL Reach with Stale Data on LLMs?',
      url: 'https://arxiv.org/abs/2510.01161',
    },
  },
  create: ({ m2Threshold, logRatioClip: most }) =>
    tokenTerm({
      open: (input) => {
        const { kept, metrics } = trustMask(input, m2Threshold);
        return { kept: kept === input.actionMask ? undefined : kept, metrics, ratios: 0, kl: 0 };
      },
      visit: (block, state) => {
        const { size, d, advantage, exp: ratio, value, gradient } = block;
        exponentials(d, size, ratio, most);
        let [ratios, kl] = [0, 0];
        for (let i = 0; i < size; i++) {
          const loss = -advantage[i]! * ratio[i]!;
          value[i] = loss;
          gradient[i] = loss;
          ratios += ratio[i]!;
          kl -= Math.abs(d[i]!) > most ? most * Math.sign(d[i]!) : d[i]!;
        }
        if (state.kept) leaveOut(block, state.kept);
        state.ratios += ratios;
        state.kl += kl;
      },
      metrics: (loss, mean, { metrics, ratios, kl }) => ({
        pg_loss: loss,
        ppo_kl: mean(kl),
        'ratio/mean': mean(ratios),
        ...metrics,
      }),
    }),
});

function leaveOut({ size, at, value, gradient }: TokenBlock, kept: Uint8Array): void {
  for (let i = 0; i < size; i++) {
    if (kept[at[i]!] === 1) continue;
    value[i] = 0;
    gradient[i] = 0;
  }
}
