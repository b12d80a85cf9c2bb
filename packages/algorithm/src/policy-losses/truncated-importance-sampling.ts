/** Policy gradient corrected by importance ratios that are cut off: by token or by answer. */
import { choiceArg, numberArg } from '@trinity-rft/core';
import { tokenTerm } from '../parts/token-term.js';
import { definePolicyLoss } from '../parts/policy-loss-part.js';
import { importanceRatios, rowRatios } from './rows.js';

const args = {
  level: choiceArg(
    ['token', 'sequence'],
    'token',
    'Whose importance ratio corrects a token: its own, or that of the whole answer.',
  ),
  threshold: numberArg(2, { above: 0 }, 'Largest importance ratio that is believed.'),
  mode: choiceArg(
    ['truncate', 'mask'],
    'truncate',
    'What happens above the threshold: the ratio is cut off, or the tokens are left out.',
  ),
};

/**
 * w = min(rho, C) with `truncate`, rho [rho <= C] with `mask`; rho = r of the token, or e^sum(d) of
 * the row: l = -sg(w) A x, dl/dx = -w A. The correction of TRL (`vllm_importance_sampling_cap` and
 * `_mode`) and verl (`rollout_is`, `rollout_is_threshold`) for a policy that takes one step per
 * batch, where the ratio within the batch is 1 and the sampler's log-probabilities are all there is
 * to correct for.
 *
 * Metrics `pg_loss`, `is_weight/mean`, `is_truncated_frac` (share of tokens above C), `ppo_kl`
 * (mean of -d).
 * @see https://fengyao.notion.site/off-policy-rl; IMPALA, arXiv:1802.01561
 */
export const truncatedImportanceSampling = definePolicyLoss({
  args,
  doc: {
    summary:
      'Policy gradient with truncated (or masked) importance ratios per token or per answer, as in TRL and verl.',
    formula: 'w = min(rho, threshold), or 0 above it; l = -sg(w) A x',
    source: {
      title: 'Your Efficient RL Framework Secretly Brings You Off-Policy RL Training',
      url: 'https://fengyao.notion.site/off-policy-rl',
    },
  },
  create: ({ level, threshold, mode }) =>
    tokenTerm({
      open: (input) => ({
        ofRows: level === 'sequence' ? rowRatios(input, 'sum') : undefined,
        corrections: 0,
        above: 0,
        kl: 0,
      }),
      visit: (block, state) => {
        const { size, current, d, advantage, value, gradient } = block;
        const ratio = importanceRatios(block, state.ofRows);
        const most = mode === 'truncate' ? threshold : 0;
        let [corrections, above, kl] = [0, 0, 0];
        for (let i = 0; i < size; i++) {
          const isAbove = ratio[i]! > threshold;
          const correction = isAbove ? most : ratio[i]!;
          gradient[i] = -correction * advantage[i]!;
          value[i] = gradient[i]! * current[i]!;
          corrections += correction;
          if (isAbove) above++;
          kl -= d[i]!;
        }
        state.corrections += corrections;
        state.above += above;
        state.kl += kl;
      },
      metrics: (loss, mean, { corrections, above, kl }) => ({
        pg_loss: loss,
        'is_weight/mean': mean(corrections),
        is_truncated_frac: mean(above),
        ppo_kl: mean(kl),
      }),
    }),
});
