/**
 * Supervised loss that gives the largest weight to tokens whose probability under the policy is
 * close to 1/2.
 */
import { numberArg } from '@trinity-rft/core';
import { boundedExp } from '../parts/numbers.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  cutoffProb: numberArg(
    1,
    { above: 0, max: 1 },
    'Tokens that the policy gives more than this probability teach nothing; 1 leaves none out.',
  ),
};

/**
 * Computes l = -sg(phi) y with p = e^x, phi = p (1 - p), and y = min(x, log q) for q = `cutoffProb`
 * (y = x for q = 1). dl/dx = -phi, or 0 where x > log q. Metric `sft_phi_loss`.
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
  lossMetric: 'sft_phi_loss',
  constants: ({ cutoffProb }) => ({ cutoff: cutoffProb === 1 ? Infinity : Math.log(cutoffProb) }),
  token: ({ logprob: x }, out, { cutoff }) => {
    const p = boundedExp(x);
    const phi = p * (1 - p);
    out.loss = -phi * Math.min(x, cutoff);
    out.gradient = x > cutoff ? 0 : -phi;
  },
});
