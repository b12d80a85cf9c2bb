/** Policy gradient behind a soft gate instead of a hard clip. */
import { booleanArg, ConfigError, numberArg } from '@trinity-rft/core';
import { blockSize, meanOf, trainedTokens } from '../aggregate.js';
import { boundLogRatio, definePolicyLoss } from './define.js';
import { tokenRatios } from './rows.js';

const args = {
  tauPos: numberArg(1, { above: 0 }, 'Steepness of the gate where the advantage is positive.'),
  tauNeg: numberArg(1.05, { above: 0 }, 'Steepness elsewhere; at least tau_pos, so that unlearning fades sooner than learning.'),
  differentiateGate: booleanArg(
    false,
    'Train the objective of the paper, -A g(r); otherwise the gate only weighs the token, -A sg(g) x, as in Trinity-RFT.',
  ),
};

/**
 * g = (4 / tau) s, s = sigmoid(tau (r - 1)). With `differentiateGate`, as in the paper, l = -A g and dl/dx = -A 4 s (1 - s) r:
 * plain policy gradient at r = 1, fading on either side. Otherwise, as in the original, l = -A sg(g) x and dl/dx = -A g, which
 * is twice as much at r = 1 and does not fade where r grows.
 *
 * Metrics `sapo_loss`, `ppo_kl` (mean of -d), `avg_soft_gate`, `avg_ratio`, `pos_adv_frac`.
 * @see SAPO, arXiv:2511.20347, eq. 5 to 7
 */
export const sapo = definePolicyLoss({
  args,
  doc: {
    summary: 'Soft adaptive policy optimisation: a gate that fades out with the distance from the old policy.',
    formula: 'g = (4 / tau) sigmoid(tau (r - 1)); l = -A g with differentiate_gate, else -A sg(g) x',
    source: { title: 'Soft Adaptive Policy Optimization', url: 'https://arxiv.org/abs/2511.20347' },
  },
  create: ({ tauPos, tauNeg, differentiateGate }) => {
    if (tauNeg < tauPos)
      throw new ConfigError(`The argument "tauNeg" of policy loss "sapo" is ${tauNeg}; expected at least "tauPos", ${tauPos}.`, {
        code: 'ARGUMENT_INVALID',
      });
    return (input, weights) => {
      const { actionMask, advantages, currentLogprobs, oldLogprobs } = input;
      const trained = trainedTokens(actionMask);
      const gradLogprobs = new Float32Array(weights.length);
      const ratios = new Float64Array(blockSize);
      let [loss, kl, gates, ratioSum, positive] = [0, 0, 0, 0, 0];
      for (let from = 0; from < trained.length; from += blockSize) {
        const to = Math.min(from + blockSize, trained.length);
        tokenRatios(input, trained, from, to, ratios);
        for (let i = from; i < to; i++) {
          const t = trained[i]!;
          const current = currentLogprobs[t]!;
          const advantage = advantages[t]!;
          const d = current - oldLogprobs[t]!;
          const ratio = ratios[i - from]!;
          const tau = advantage > 0 ? tauPos : tauNeg;
          const sigmoid = 1 / (1 + Math.exp(-tau * (ratio - 1)));
          const gate = (4 / tau) * sigmoid;
          const scale = -weights[t]! * advantage;
          const slope = boundLogRatio(d) === d ? 4 * sigmoid * (1 - sigmoid) * ratio : 0;
          loss += scale * gate * (differentiateGate ? 1 : current);
          gradLogprobs[t] = scale * (differentiateGate ? slope : gate);
          kl -= d;
          gates += gate;
          ratioSum += ratio;
          if (advantage > 0) positive++;
        }
      }
      const mean = (sum: number): number => meanOf(sum, trained.length);
      const metrics = { ppo_kl: mean(kl), avg_soft_gate: mean(gates), avg_ratio: mean(ratioSum), pos_adv_frac: mean(positive) };
      return { loss, gradLogprobs, metrics: { sapo_loss: loss, ...metrics } };
    };
  },
});
