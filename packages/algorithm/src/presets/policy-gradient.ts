/** Presets of the REINFORCE family: with a critic, with a baseline, or with the reward alone. */
import { groupRelativeReinforce, paper, plain, rollouts, type PresetTable } from './base.js';

export const policyGradient = {
  ppo: {
    ...rollouts,
    repeatTimes: 1,
    advantageFn: { name: 'ppo' },
    doc: {
      summary: 'Proximal policy optimisation: a critic says what to expect of every token.',
      formula:
        'A = whiten(GAE(gamma, lambda)); clipped ratio loss + KL loss; critic: clipped squared error',
      source: paper('Proximal Policy Optimization Algorithms', '1707.06347'),
    },
  },
  reinforceplusplus: {
    ...rollouts,
    advantageFn: { name: 'reinforceplusplus' },
    doc: {
      summary: 'Discounted returns, normalised over the whole batch; no critic and no groups.',
      formula: 'A = whiten(G), G_t = R_t + gamma G_(t+1); clipped ratio loss + KL loss',
      source: paper(
        'REINFORCE++: Stabilizing Critic-Free Policy Optimization with Global Advantage Normalization',
        '2501.03262',
      ),
    },
  },
  rloo: {
    ...rollouts,
    advantageFn: { name: 'rloo' },
    doc: {
      summary:
        'REINFORCE leave-one-out: the baseline of a run is the mean reward of the others of its task.',
      formula: 'A_i = R_i - mean over j != i of R_j; clipped ratio loss + KL loss',
      source: paper(
        'Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs',
        '2402.14740',
      ),
    },
  },
  opmd: {
    ...rollouts,
    advantageFn: { name: 'opmd' },
    policyLossFn: { name: 'opmd' },
    doc: {
      summary:
        'Online policy mirror descent in its simplest form: rewards above the mean of the group, without ratios or clips.',
      formula: 'l = -A x / (1 + tau), A = R - mean(R) per task; + KL loss',
      source: groupRelativeReinforce,
    },
  },
  asymre: {
    ...plain,
    advantageFn: { name: 'asymre' },
    policyLossFn: { name: 'opmd' },
    doc: {
      summary:
        'REINFORCE with a baseline below the mean, so that good runs weigh more than bad ones; stable off-policy.',
      formula: 'l = -A x / (1 + tau), A = R - (mean(R) + shift) per task',
      source: paper(
        'Asymmetric REINFORCE for off-Policy Reinforcement Learning: Balancing positive and negative rewards',
        '2506.20520',
      ),
    },
  },
  rec: {
    ...rollouts,
    advantageFn: { name: 'rec' },
    policyLossFn: { name: 'rec' },
    doc: {
      summary: 'Group-relative REINFORCE with a choice of clip, weight and regularizer.',
      formula:
        'l = -A x where the ratio is in range + regularizer, A = R - mean(R) per task; + KL loss',
      source: groupRelativeReinforce,
    },
  },
  topr: {
    ...rollouts,
    advantageFn: { name: 'reinforce' },
    policyLossFn: { name: 'topr' },
    doc: {
      summary:
        'Off-policy REINFORCE whose bad answers are tapered by their importance ratio; good ones are imitated as they are.',
      formula: 'l = -sg(alpha) R x, alpha = 1 where R > threshold, else min(r, 1); + KL loss',
      source: paper(
        'Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs',
        '2503.14286',
      ),
    },
  },
  sppo: {
    ...plain,
    advantageFn: { name: 'opmd' },
    policyLossFn: { name: 'sppo' },
    doc: {
      summary:
        'Simplified PPO: log-ratios instead of ratios, and no step beyond the trust range on either side.',
      formula: 'l = -A d where 1 / (1 + epsilon) <= r <= 1 + epsilon, A = R - mean(R) per task',
      source: paper(
        'A General Class of Surrogate Functions for Stable and Efficient Reinforcement Learning',
        '2108.05828',
      ),
    },
  },
} satisfies PresetTable;
