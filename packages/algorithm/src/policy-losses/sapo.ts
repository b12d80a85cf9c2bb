/** Policy gradient behind a soft gate instead of a hard clip. */
import { booleanArg, ConfigError, numberArg } from '@trinity-rft/core';
import { exponentials } from '../parts/exponential.js';
import { tokenTerm } from '../parts/token-term.js';
import { blockSize } from '../parts/visit.js';
import { definePolicyLoss, ratiosOf } from '../parts/policy-loss-part.js';

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
 * g = (4 / tau) s, s = sigmoid(tau (r - 1)). With `differentiateGate`, as in the paper, l = -A g
 * and dl/dx = -A 4 s (1 - s) r: plain policy gradient at r = 1, fading on either side. Otherwise,
 * as in the original, l = -A sg(g) x and dl/dx = -A g, which is twice as much at r = 1 and does not
 * fade where r grows.
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
  create: ({ tauPos, tauNeg, differentiateGate }) => {
    if (tauNeg < tauPos)
      throw new ConfigError(
        `The argument "tauNeg" of policy loss "sapo" is ${tauNeg}; expected at least "tauPos", ${tauPos}.`,
        {
          code: 'ARGUMENT_INVALID',
        },
      );
    return tokenTerm({
      open: () => ({ exps: new Float64Array(blockSize), kl: 0, gates: 0, ratios: 0, positive: 0 }),
      visit: (block, state) => {
        const { size, current, d, advantage, value, gradient } = block;
        const [ratio, { exps }] = [ratiosOf(block), state];
        for (let i = 0; i < size; i++)
          exps[i] = (advantage[i]! > 0 ? tauPos : tauNeg) * (1 - ratio[i]!);
        exponentials(exps, size, exps);
        let [kl, gates, ratios, positive] = [0, 0, 0, 0];
        for (let i = 0; i < size; i++) {
          const A = advantage[i]!;
          const r = ratio[i]!;
          const sigmoid = 1 / (1 + exps[i]!);
          const gate = (4 / (A > 0 ? tauPos : tauNeg)) * sigmoid;
          const slope = Math.abs(d[i]!) <= 20 ? 4 * sigmoid * (1 - sigmoid) * r : 0;
          value[i] = -A * gate * (differentiateGate ? 1 : current[i]!);
          gradient[i] = -A * (differentiateGate ? slope : gate);
          kl -= d[i]!;
          gates += gate;
          ratios += r;
          if (A > 0) positive++;
        }
        state.kl += kl;
        state.gates += gates;
        state.ratios += ratios;
        state.positive += positive;
      },
      metrics: (loss, mean, { kl, gates, ratios, positive }) => ({
        sapo_loss: loss,
        ppo_kl: mean(kl),
        avg_soft_gate: mean(gates),
        avg_ratio: mean(ratios),
        pos_adv_frac: mean(positive),
      }),
    });
  },
});
