/** Importance-weighted policy gradient over a batch whose second moment is bounded. */
import { numberArg } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
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
  create:
    ({ m2Threshold, logRatioClip }) =>
    (input, weights) => {
      const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
      const { kept, metrics } = trustMask(input, m2Threshold);
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let [loss, ratios, kl] = [0, 0, 0];
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const d = clamp(currentLogprobs[t]! - oldLogprobs[t]!, -logRatioClip, logRatioClip);
          const ratio = Math.exp(d);
          kl -= d;
          ratios += ratio;
          if (kept[t] === 0) continue;
          const value = -weights[t]! * advantages[t]! * ratio;
          loss += value;
          gradLogprobs[t] = value;
        }
      }
      const means = { ppo_kl: meanOf(kl, trained.length), 'ratio/mean': meanOf(ratios, trained.length) };
      return { loss, gradLogprobs, metrics: { pg_loss: loss, ...means, ...metrics } };
    },
});
