/**
 * Advantages that are one number per run, from the rewards of the runs of its task: on explore
 * steps and on train batches.
 */
import {
  type AdvantageFn,
  type BatchAdvantageFn,
  type Experience,
  type Metrics,
} from '@trinity-rft/core';
import {
  gatherMetrics,
  groupBy,
  taskKey,
  type AdvantageInput,
  type AdvantageOutput,
} from '@trinity-rft/core/internal';
import {
  batchStd,
  groupStats,
  relativeScores,
  rewardOf,
  stdOf,
  withScore,
  zeroVarianceRatio,
  type StdCalLevel,
} from './groups.js';
import type { AdvantageStrategy } from '../../parts/advantage-part.js';
import { eachTrainedToken, rowSpans } from '../../parts/rows.js';

/** The runs of one task. */
export interface RewardGroup {
  /** Tells groups of one batch apart, for what is drawn at random. */
  readonly key: string;
  readonly rewards: readonly number[];
}

/** One score per reward, in order; `all` holds the rewards of every group of the batch. */
export type ScoreGroup = (
  group: RewardGroup,
  all: readonly number[],
) => {
  readonly scores: readonly number[];
  /** Metrics of the group, gathered as `group_advantages/<name>/{mean,max,min}`. */
  readonly metrics: Metrics;
};

/**
 * Both functions from one: A = score * actionMask, returns the same. A group is a task. `read` is
 * the reward of an experience; in a train batch it is the sum of the rewards of the row's tokens.
 * On explore steps the output has the groups one after the other, in order of first appearance.
 */
export function byGroup(
  score: ScoreGroup,
  read: (experience: Experience) => number = rewardOf,
): Required<Omit<AdvantageStrategy, 'needs'>> {
  return { advantage: overExperiences(score, read), batchAdvantage: overRows(score) };
}

/** (R_i - mean(R)) / (std(R) + epsilon), with the standard deviation of `level`. */
export function byDeviation(epsilon: number, level: StdCalLevel = 'group'): ScoreGroup {
  return ({ rewards }, all) => {
    const stats = groupStats(rewards);
    const divisor = stdOf(level, stats, level === 'batch' ? batchStd(all) : 1, epsilon);
    return {
      scores: relativeScores(rewards, stats, divisor),
      metrics: { reward_mean: stats.mean, reward_std: stats.std },
    };
  };
}

function overExperiences(score: ScoreGroup, read: (experience: Experience) => number): AdvantageFn {
  return (experiences) => {
    const members = [...groupBy(experiences, ({ eid }) => taskKey(eid))];
    const groups = members.map(([key, group]): RewardGroup => ({ key, rewards: group.map(read) }));
    const { scores, metrics } = scoreAll(score, groups);
    return {
      experiences: members.flatMap(([, group], g) =>
        group.map((experience, i) => withScore(experience, scores[g]![i]!)),
      ),
      metrics,
    };
  };
}

function overRows(score: ScoreGroup): BatchAdvantageFn {
  return (input) => {
    const rows = rowsByTask(input);
    const rewards = rowReturns(input);
    const groups = [...rows].map(([task, members]): RewardGroup => ({
      key: `${task}/${input.actionMask.length}`,
      rewards: members.map((row) => rewards[row]!),
    }));
    const { scores, metrics } = scoreAll(score, groups);
    const byRow = new Float64Array(rewards.length);
    for (const [g, members] of [...rows.values()].entries())
      for (const [i, row] of members.entries()) byRow[row] = scores[g]![i]!;
    return { ...spread(input, byRow), metrics };
  };
}

function scoreAll(
  score: ScoreGroup,
  groups: readonly RewardGroup[],
): { scores: readonly (readonly number[])[]; metrics: Metrics } {
  if (groups.length === 0) return { scores: [], metrics: {} };
  const rewards = groups.map((group) => group.rewards);
  const all = rewards.flat();
  const scored = groups.map((group) => score(group, all));
  const ofGroups = gatherMetrics(
    scored.map(({ metrics }) => metrics),
    'group_advantages',
  );
  return {
    scores: scored.map(({ scores }) => scores),
    metrics: { ...ofGroups, 'group_advantages/zero_variance_ratio': zeroVarianceRatio(rewards) },
  };
}

/** Rows of each task, in order of first appearance. */
function rowsByTask({ tasks }: AdvantageInput): ReadonlyMap<number, readonly number[]> {
  const rows = new Map<number, number[]>();
  for (const [row, task] of tasks.entries()) {
    const members = rows.get(task);
    if (members) members.push(row);
    else rows.set(task, [row]);
  }
  return rows;
}

/** Sum of the rewards of each row's tokens, trained or not. [B] */
const rowReturns = ({ offsets, rewards }: AdvantageInput): readonly number[] =>
  rowSpans(offsets).map(({ start, end }) =>
    rewards.subarray(start, end).reduce((sum, reward) => sum + reward, 0),
  );

/** score * actionMask, once as advantages and once as returns. */
function spread(
  input: AdvantageInput,
  scores: Float64Array,
): Pick<AdvantageOutput, 'advantages' | 'returns'> {
  const advantages = new Float32Array(input.actionMask.length);
  eachTrainedToken(input, (t, row) => (advantages[t] = scores[row]!));
  return { advantages, returns: advantages.slice() };
}
