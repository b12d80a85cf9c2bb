/**
 * Advantage function whose baseline is the mean reward of the kept rollouts of a task. If rollouts
 * below the mean reward outnumber the others, the surplus may be dropped at random.
 */
import {
  booleanArg,
  choiceArg,
  createRandom,
  deriveSeed,
  numberArg,
  onlyWith,
} from '@trinity-rft/core';
import { byGroup, type ScoreGroup } from './shared/group-scores.js';
import { groupMean, populationDeviation, relativeScores } from './shared/groups.js';
import { compareArg } from './shared/runs.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  compare: compareArg,
  epsilon: onlyWith(
    'std_normalize: true',
    ({ stdNormalize }) => stdNormalize === true,
    numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.'),
  ),
  stdNormalize: booleanArg(false, 'Divide by the population standard deviation of the kept runs.'),
  drop: choiceArg(
    ['none', 'balance'],
    'none',
    'balance drops random runs below the mean until they are no more than those at or above it; dropped runs get advantage 0.',
  ),
};

/**
 * Computes A_i = R_i - mean(R_K), where K are the kept rollouts of the task. With `stdNormalize`,
 * divides by (std(R_K) + epsilon), where std is the population deviation. Dropped rollouts have A =
 * 0 and stay in the batch. For a single kept rollout, A = R, or R / (1 + epsilon) with
 * `stdNormalize`. Equal rewards give A = 0. The seed of the training run and the key of the group
 * determine which rollouts are dropped.
 *
 * Metrics: `group_advantages/{drop_balance,reward_mean,reward_std}/{mean,max,min}`,
 * `group_advantages/{zero_variance_ratio,uneven_runs}`.
 */
export const rec = defineAdvantagePart({
  args,
  doc: {
    summary: 'How far the reward of a run lies above the mean of the kept runs of its task.',
    formula:
      'A_i = R_i - mean(R_K), normalised: / (std(R_K) + epsilon); dropped runs: 0; one kept run: A = R',
    source: {
      title:
        'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm: Demystifying Some Myths About GRPO and Its Friends',
      url: 'https://arxiv.org/abs/2509.24203',
    },
  },
  comparesRuns: true,
  create: ({ compare, epsilon, stdNormalize, drop }, seed) => {
    const score: ScoreGroup = ({ key, rewards }) => {
      const dropped =
        drop === 'balance' ? surplusOf(rewards, deriveSeed(seed, 'rec', key)) : new Set<number>();
      const kept = rewards.filter((_, i) => !dropped.has(i));
      const single = kept.length <= 1;
      const [average, std] = single ? [0, 1] : [groupMean(kept), populationDeviation(kept)];
      const divisor = stdNormalize ? std + epsilon : 1;
      return {
        scores: relativeScores(rewards, { mean: average }, divisor).map((score, i) =>
          dropped.has(i) ? 0 : score,
        ),
        metrics: {
          drop_balance: dropped.size / rewards.length,
          reward_mean: average,
          reward_std: std,
        },
      };
    };
    return byGroup(score, { compare });
  },
});

/**
 * Returns the indices of the rollouts to drop, selected at random from those below the mean reward.
 * Drops only as many as necessary for the remaining ones below the mean not to outnumber the
 * rollouts at or above the mean.
 */
function surplusOf(rewards: readonly number[], seed: number): ReadonlySet<number> {
  const average = groupMean(rewards);
  const below = [...rewards.keys()].filter((i) => rewards[i]! < average);
  const surplus = Math.max(0, 2 * below.length - rewards.length);
  return new Set(createRandom(seed).shuffle(below).slice(0, surplus));
}
