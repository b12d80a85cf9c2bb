/** Policy gradient corrected by importance ratios that are truncated, per token or per sequence. */
import { choiceArg, numberArg } from '@trinity-rft/core';
import { definePolicyLoss } from '../parts/policy-loss-part.js';

const args = {
  level: choiceArg(
    ['token', 'sequence'],
    'token',
    'Which importance ratio corrects a token: its own, or that of the whole sequence.',
  ),
  threshold: numberArg(2, { above: 0 }, 'Largest importance ratio used.'),
  mode: choiceArg(
    ['truncate', 'mask'],
    'truncate',
    'What happens above the threshold: the ratio is truncated, or the tokens are left out.',
  ),
};

/**
 * Computes l = -sg(w) A x, with dl/dx = -w A. w is min(rho, C) with `truncate`, or, with `mask`,
 * rho if rho <= C and 0 otherwise. rho is the ratio r of the token, or e^sum(d) of the whole row.
 * This is the correction of TRL (`vllm_importance_sampling_cap` and `_mode`) and verl
 * (`rollout_is`, `rollout_is_threshold`) for a policy that takes one step per batch. The ratio
 * within the batch is then 1, and only the mismatch with the sampler's log-probabilities has to be
 * corrected.
 *
 * Metrics `pg_loss`, `is_weight/mean`, `is_truncated_frac` (share of tokens above C), `ppo_kl`
 * (mean of -d).
 * @see https://fengyao.notion.site/off-policy-rl; IMPALA, arXiv:1802.01561
 */
export const truncatedImportanceSampling = definePolicyLoss({
  args,
  doc: {
    summary:
      'Policy gradient with truncated (or masked) importance ratios per token or per sequence, as in TRL and verl.',
    formula: 'w = min(rho, threshold), or 0 above it; l = -sg(w) A x',
    source: {
      title: 'Your Efficient RL Framework Secretly Brings You Off-Policy RL Training',
      url: 'https://fengyao.notion.site/off-policy-rl',
    },
  },
  lossMetric: 'pg_loss',
  tokenMeans: ['is_weight/mean', 'is_truncated_frac', 'ppo_kl'],
  known: ({ level, threshold, mode }) =>
    level === 'token' && mode === 'truncate'
      ? { name: 'cispo', low: 0, high: threshold }
      : undefined,
  token: (token, out, { level, threshold, mode }) => {
    const { logprob: x, advantage: A, logRatio: d } = token;
    const rho = level === 'sequence' ? token.row.sequenceRatio : token.ratio;
    const isAbove = rho > threshold;
    const weight = isAbove ? (mode === 'truncate' ? threshold : 0) : rho;
    out.loss = -weight * A * x;
    out.gradient = -weight * A;
    out.sums['is_weight/mean'] += weight;
    out.sums.is_truncated_frac += Number(isAbove);
    out.sums.ppo_kl -= d;
  },
});
