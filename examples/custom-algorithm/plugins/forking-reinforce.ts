/**
 * REINFORCE with the mean of the other runs as the baseline, which learns most where the policy is
 * undecided.
 */
import {
  byGroup,
  defineAdvantage,
  defineAlgorithm,
  definePolicyLoss,
} from '@trinity-rft/algorithm';
import { numberArg } from '@trinity-rft/core';

/** A_i = max(R_i - mean of the other runs' R, -floor): the floor limits the penalty of bad runs. */
const leaveOneOut = defineAdvantage({
  name: 'leave_one_out',
  doc: {
    summary: 'How far the reward of a run lies above the mean of the others, bounded from below.',
    formula: 'A_i = max(R_i - mean(R_j, j != i), -floor); a single run: A = R',
    source: {
      title: 'Back to Basics: Revisiting REINFORCE Style Optimization',
      url: 'https://arxiv.org/abs/2402.14740',
    },
  },
  args: { floor: numberArg(0.5, { min: 0 }, 'Advantages are at least minus this.') },
  create: ({ floor }) =>
    byGroup(({ rewards }) => {
      const sum = rewards.reduce((total, reward) => total + reward, 0);
      const others = Math.max(rewards.length - 1, 1);
      return {
        scores: rewards.map((reward) => Math.max(reward - (sum - reward) / others, -floor)),
        metrics: { reward_mean: sum / rewards.length },
      };
    }),
});

/** l = -A (1 + w H) x, dl/dx = -A (1 + w H), where H is the entropy at the sampled token and has no gradient. */
const forkingTokens = definePolicyLoss({
  name: 'forking_tokens',
  doc: {
    summary: 'Policy gradient that weighs a token by how undecided the policy is there.',
    formula: 'l = -A (1 + entropy_weight sg(H)) x',
    source: {
      title:
        'Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective Reinforcement Learning for LLM Reasoning',
      url: 'https://arxiv.org/abs/2506.01939',
    },
  },
  args: {
    entropyWeight: numberArg(1, { min: 0 }, 'What a nat of entropy adds to the weight of a token.'),
  },
  needs: { rollouts: true, entropy: 'value' },
  lossMetric: 'forking_loss',
  token: ({ logprob: x, advantage: A, entropy: H }, out, { entropyWeight }) => {
    const weight = 1 + entropyWeight * H;
    out.loss = -A * weight * x;
    out.gradient = -A * weight;
  },
});

/** Algorithm for `algorithm_type: forking_reinforce`; includes its two parts. */
export const forkingReinforce = defineAlgorithm({
  name: 'forking_reinforce',
  doc: {
    summary: 'REINFORCE with a leave-one-out baseline and weights by entropy.',
    formula: 'l = -A (1 + entropy_weight sg(H)) x',
  },
  repeatTimes: 8,
  advantageFn: leaveOneOut,
  policyLossFn: forkingTokens,
  klLossFn: { name: 'none' },
  entropyLossFn: { name: 'none' },
});
