/** Group-relative advantage: how much better a run did than the others of its task. */
import {
  booleanArg,
  choiceArg,
  ConfigError,
  gatherMetrics,
  groupBy,
  numberArg,
  taskKey,
  type AdvantageFn,
  type ArgValues,
  type Experience,
} from '@trinity-rft/core';
import { byGroup } from './group-scores.js';
import { byDeviation } from './grpo-verl.js';
import { duplicateGroups } from './duplicates.js';
import {
  batchStd,
  groupStats,
  isDropped,
  rewardOf,
  stdCalLevels,
  stdOf,
  withScore,
  zeroVarianceRatio,
  type GroupStats,
} from './groups.js';
import { penaliseRanks } from './rank-penalty.js';
import { defineAdvantagePart } from '../parts/advantage-part.js';

const args = {
  epsilon: numberArg(1e-6, { min: 0 }, 'Added to the standard deviation.'),
  stdThreshold: numberArg(
    undefined,
    { min: 0 },
    'Groups whose standard deviation is at most this, and groups of one, are dropped; unset: none are.',
  ),
  duplicateExperiences: booleanArg(
    false,
    'Replace dropped groups by copies of random kept ones; needs std_threshold.',
  ),
  rankPenalty: numberArg(
    undefined,
    { min: 0, max: 1 },
    'The run of rank q of n, by rising mean log-probability, keeps the share 1 - rank_penalty * q / n of its reward.',
  ),
  rankPenaltyRawNumerator: booleanArg(
    false,
    'As Trinity-RFT 0.5.2: penalised rewards in mean and deviation, raw ones in the numerator, ranks over all response tokens.',
  ),
  stdCalLevel: choiceArg(
    stdCalLevels,
    'group',
    'Whose standard deviation divides: of the group, of the whole explore step, or none.',
  ),
};

type Options = ArgValues<typeof args>;

interface Group {
  readonly experiences: readonly Experience[];
  /** What is compared: after the rank penalty. */
  readonly rewards: readonly number[];
  readonly stats: GroupStats;
}

/**
 * (R_i - mean(R)) / (std(R) + epsilon) over the experiences of one task, copied to each trained
 * token. Sample standard deviation; a group of one gets its reward / (1 + epsilon), equal rewards
 * get exactly 0. Output: the groups one after the other, in order of first appearance.
 *
 * Metrics: `group_advantages/{reward_mean,reward_std}/{mean,max,min}` (dropped groups included),
 * `group_advantages/zero_variance_ratio`, `filtered_count` (experiences dropped; not on train
 * batches, where nothing is dropped or penalised by rank).
 */
export const grpo = defineAdvantagePart({
  args,
  doc: {
    summary: 'How much better a run did than the others of its task, in standard deviations.',
    formula:
      'A_i = (R_i - mean(R)) / (std(R) + epsilon), over the runs of one task; one run: A = R / (1 + epsilon)',
    source: {
      title:
        'DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models, section 4.1',
      url: 'https://arxiv.org/abs/2402.03300',
    },
  },
  comparesRuns: true,
  create: (options, seed) => {
    if (options.duplicateExperiences && options.stdThreshold === undefined) {
      throw new ConfigError(
        'The argument "duplicateExperiences" of advantage function "grpo" replaces groups that "stdThreshold" drops. Set "stdThreshold" too.',
        { code: 'ARGUMENT_INVALID' },
      );
    }
    const { batchAdvantage } = byGroup(byDeviation(options.epsilon, options.stdCalLevel));
    const selects = options.stdThreshold !== undefined || options.rankPenalty !== undefined;
    return {
      advantage: (experiences) => compare(experiences, options, seed),
      ...(!selects && { batchAdvantage }),
    };
  },
});

function compare(
  experiences: readonly Experience[],
  options: Options,
  seed: number,
): ReturnType<AdvantageFn> {
  if (experiences.length === 0) return { experiences, metrics: { filtered_count: 0 } };
  const groups = [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()].map((members) =>
    toGroup(members, options),
  );
  const kept = groups.filter(({ stats }) => !isDropped(stats, options.stdThreshold));
  const all = batchStd(experiences.map(rewardOf));
  const scored = kept.map((group) =>
    score(group, stdOf(options.stdCalLevel, group.stats, all, options.epsilon)),
  );
  const count = scored.reduce((sum, members) => sum + members.length, 0);
  const copies = options.duplicateExperiences
    ? duplicateGroups(scored, groups.length - kept.length, seed)
    : [];
  return {
    experiences: [...scored.flat(), ...copies],
    metrics: {
      ...gatherMetrics(
        groups.map(({ stats }) => ({ reward_mean: stats.mean, reward_std: stats.std })),
        'group_advantages',
      ),
      'group_advantages/zero_variance_ratio': zeroVarianceRatio(
        groups.map((group) => group.experiences.map(rewardOf)),
      ),
      filtered_count: experiences.length - count,
    },
  };
}

function toGroup(
  experiences: readonly Experience[],
  { rankPenalty = 0, rankPenaltyRawNumerator }: Options,
): Group {
  const raw = experiences.map(rewardOf);
  const penalised =
    rankPenalty === 0 ? raw : penaliseRanks(raw, experiences, rankPenalty, rankPenaltyRawNumerator);
  return {
    experiences,
    rewards: rankPenaltyRawNumerator ? raw : penalised,
    stats: groupStats(penalised),
  };
}

function score({ experiences, rewards, stats }: Group, divisor: number): readonly Experience[] {
  return experiences.map((experience, i) =>
    withScore(experience, (rewards[i]! - stats.mean) / divisor),
  );
}
