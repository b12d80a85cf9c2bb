/** Group-relative advantage: how much better a run did than the others of its task. */
import {
  actionCount,
  booleanArg,
  choiceArg,
  ConfigError,
  createRandom,
  deriveSeed,
  gatherMetrics,
  groupBy,
  numberArg,
  taskKey,
  uid,
  withFields,
  type AdvantageFn,
  type ArgValues,
  type Experience,
} from '@trinity-rft/core';
import { definePart } from '../part.js';
import { batchStd, groupStats, isDropped, rewardOf, withScore, zeroVarianceRatio, type GroupStats } from './groups.js';

const args = {
  /** Added to the standard deviation. */
  epsilon: numberArg(1e-6, { min: 0 }),
  /** Groups whose deviation is at most this, and groups of one, are dropped. Unset: none are. */
  stdThreshold: numberArg(undefined, { min: 0 }),
  /** Replace dropped groups by copies of random kept ones. Needs `stdThreshold`. */
  duplicateExperiences: booleanArg(false),
  /** The run of rank q of n (by rising mean log-probability) keeps the share 1 - rankPenalty * q / n of its reward. */
  rankPenalty: numberArg(undefined, { min: 0, max: 1 }),
  /** Whose deviation scales the score. */
  stdCalLevel: choiceArg(['group', 'batch'], 'group'),
};

interface Group {
  readonly experiences: readonly Experience[];
  /** After the rank penalty. */
  readonly rewards: readonly number[];
  readonly stats: GroupStats;
}

/**
 * (r_i - mean(r)) / (std(r) + epsilon) over the experiences of one task, copied to each trained token. Sample standard
 * deviation; a group of one gets its reward. Output: the groups one after the other, in order of first appearance.
 *
 * Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}` (dropped groups included),
 * `group_advantages/zero_variance_ratio`, `filtered_count` (experiences dropped).
 * @see DeepSeekMath, arXiv:2402.03300, section 4.1; rank penalty: arXiv:2506.02355
 */
export const grpo = definePart(args, (options, seed: number): AdvantageFn => {
  if (options.duplicateExperiences && options.stdThreshold === undefined) {
    throw new ConfigError(
      'The argument "duplicateExperiences" of advantage function "grpo" replaces groups that "stdThreshold" drops. Set "stdThreshold" too.',
      { code: 'ARGUMENT_INVALID' },
    );
  }
  return (experiences) => {
    if (experiences.length === 0) return { experiences, metrics: { filtered_count: 0 } };
    const groups = [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()].map((members) => toGroup(members, options));
    const kept = groups.filter(({ stats }) => !isDropped(stats, options.stdThreshold));
    const all = batchStd(experiences.map(rewardOf));
    const scored = kept.map((group) => score(group, options.stdCalLevel === 'batch' ? all : group.stats.std, options.epsilon));
    const copies = options.duplicateExperiences ? duplicates(scored, groups.length - kept.length, seed) : [];
    return {
      experiences: [...scored.flat(), ...copies],
      metrics: {
        ...gatherMetrics(
          groups.map(({ stats }) => ({ reward_mean: stats.mean, reward_std: stats.std })),
          'group_advantages',
        ),
        'group_advantages/zero_variance_ratio': zeroVarianceRatio(groups.map((group) => group.experiences.map(rewardOf))),
        filtered_count: experiences.length - scored.flat().length,
      },
    };
  };
});

function toGroup(experiences: readonly Experience[], { rankPenalty = 0 }: ArgValues<typeof args>): Group {
  const raw = experiences.map(rewardOf);
  const rewards = rankPenalty === 0 ? raw : penalised(raw, experiences.map(meanLogprob), rankPenalty);
  return { experiences, rewards, stats: groupStats(rewards) };
}

function score({ experiences, rewards, stats }: Group, std: number, epsilon: number): readonly Experience[] {
  return experiences.map((experience, i) => withScore(experience, (rewards[i]! - stats.mean) / (std + epsilon)));
}

/** Likelier runs lose more of their reward; equal ones rank in list order. */
function penalised(rewards: readonly number[], logprobs: readonly number[], penalty: number): readonly number[] {
  const order = rewards.map((_, i) => i).toSorted((a, b) => logprobs[a]! - logprobs[b]!);
  const out = [...rewards];
  for (const [rank, i] of order.entries()) out[i] = rewards[i]! * (1 - (penalty * rank) / rewards.length);
  return out;
}

/** Over trained tokens. */
function meanLogprob(experience: Experience): number {
  const sum = experience.logprobs.reduce((total, logprob, t) => total + logprob * experience.actionMask[t]!, 0);
  return sum / Math.max(1, actionCount(experience));
}

/** `count` random groups, with replacement. The choice follows from the seed and the batch; copies get ids of their own. */
function duplicates(groups: readonly (readonly Experience[])[], count: number, seed: number): readonly Experience[] {
  if (groups.length === 0) return [];
  const random = createRandom(deriveSeed(seed, 'duplicate_experiences', uid(groups[0]![0]!.eid)));
  return Array.from({ length: count }, (_, copy) =>
    groups[random.integer(groups.length)]!.map((experience) =>
      withFields(experience, { eid: { ...experience.eid, suffix: `${experience.eid.suffix}+${copy + 1}` } }),
    ),
  ).flat();
}
