/** Supervised loss that learns most from tokens that the policy is undecided about. */
import { numberArg } from '@trinity-rft/core';
import { blockSize, trainedTokens } from '../aggregate.js';
import { definePolicyLoss, ratioOf } from './define.js';

const args = {
  cutoffProb: numberArg(
    1,
    { above: 0, max: 1 },
    'Tokens that the policy gives more than this probability teach nothing; 1 leaves none out.',
  ),
};

/**
 * p = e^x, phi = p (1 - p), y = min(x, log q) with q = `cutoffProb` (y = x for q = 1): l = -sg(phi) y, dl/dx = -phi, and 0
 * where x > log q. Metric `sft_phi_loss`.
 * @see CHORD, arXiv:2508.11408, eq. 8
 */
export const sftPhi = definePolicyLoss({
  args,
  needs: {},
  doc: {
    summary: 'Supervised loss in which tokens of probability near one half weigh most.',
    formula: 'p = e^x; l = -sg(p (1 - p)) min(x, log cutoff_prob)',
    source: {
      title: 'On-Policy RL Meets Off-Policy Experts: Harmonizing SFT and RL via Dynamic Weighting',
      url: 'https://arxiv.org/abs/2508.11408',
    },
  },
  create: ({ cutoffProb }) => {
    const cutoff = cutoffProb === 1 ? Infinity : Math.log(cutoffProb);
    return ({ actionMask, currentLogprobs }, weights) => {
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      let loss = 0;
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const current = currentLogprobs[t]!;
          const probability = ratioOf(current);
          const gradient = -weights[t]! * probability * (1 - probability);
          loss += gradient * Math.min(current, cutoff);
          if (current <= cutoff) gradLogprobs[t] = gradient;
        }
      }
      return { loss, gradLogprobs, metrics: { sft_phi_loss: loss } };
    };
  },
});
