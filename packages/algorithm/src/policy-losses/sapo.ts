/** Policy gradient with a soft gate instead of a hard clip. */
import { booleanArg, ConfigError, numberArg } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  tauPos: numberArg(1, { above: 0 }, 'Steepness of the gate where the advantage is positive.'),
  tauNeg: numberArg(
    1.05,
    { above: 0 },
    'Steepness elsewhere; at least tau_pos, so that unlearning fades sooner than learning.',
  ),
  differentiateGate: booleanArg(
    false,
    'Train the objective of the paper, -A g(r); otherwise the gate only weighs the token, -A sg(g) x, as in Trinity-RFT.',
  ),
};

/**
 * Computes a loss with the gate g = (4 / tau) s, where s = sigmoid(tau (r - 1)). With
 * `differentiateGate`, as in the paper, l = -A g and dl/dx = -A 4 s (1 - s) r. At r = 1 this is the
 * plain policy gradient, and it falls towards 0 as r moves away from 1. Without
 * `differentiateGate`, as in Trinity-RFT, l = -A sg(g) x and dl/dx = -A g. This gradient does not
 * fall as r grows, and for tau = 1 it is twice the plain policy gradient at r = 1.
 *
 * Metrics `sapo_loss`, `ppo_kl` (mean of -d), `avg_soft_gate`, `avg_ratio`, `pos_adv_frac`.
 * @see SAPO, arXiv:2511.20347, eq. 5 to 7
 */
export const sapo = definePolicyLoss({
  args,
  doc: {
    summary:
      'Soft adaptive policy optimisation: a gate that fades out with the distance from the old policy.',
    formula:
      'g = (4 / tau) sigmoid(tau (r - 1)); l = -A g with differentiate_gate, else -A sg(g) x',
    source: { title: 'Soft Adaptive Policy Optimization', url: 'https://arxiv.org/abs/2511.20347' },
  },
  lossMetric: 'sapo_loss',
  tokenMeans: ['ppo_kl', 'avg_soft_gate', 'avg_ratio', 'pos_adv_frac'],
  constants: (args) => {
    const { tauPos, tauNeg } = args;
    if (tauNeg >= tauPos) return args;
    throw new ConfigError(
      `The argument "tauNeg" of policy loss "sapo" is ${tauNeg}; expected at least "tauPos", ${tauPos}.`,
      { code: 'ARGUMENT_INVALID' },
    );
  },
  token: (token, out, { tauPos, tauNeg, differentiateGate }) => {
    const { logprob: x, advantage: A, ratio: r, ratioSlope, logRatio: d } = token;
    const tau = A > 0 ? tauPos : tauNeg;
    const s = 1 / (1 + Math.exp(tau * (1 - r)));
    const gate = (4 / tau) * s;
    out.loss = differentiateGate ? -A * gate : -A * gate * x;
    out.gradient = differentiateGate ? -A * 4 * s * (1 - s) * ratioSlope : -A * gate;
    out.sums.ppo_kl -= d;
    out.sums.avg_soft_gate += gate;
    out.sums.avg_ratio += r;
    out.sums.pos_adv_frac += Number(A > 0);
  },
});
