/**
 * Advantage functions that assign one number to each rollout, computed from the rewards of all
 * rollouts of the task. They are available on explore steps and on train batches.
 */
import {
  type AdvantageFn,
  type BatchAdvantageFn,
  type Experience,
  type Metrics,
  gatherMetrics,
  taskKey,
} from '@trinity-rft/core';
import type { AdvantageInput, AdvantageOutput } from '@trinity-rft/core/internal';
import { returnedBy } from '@trinity-rft/core/support';
import {
  batchStd,
  groupStats,
  relativeScores,
  rewardOfRun,
  stdOf,
  unevenMetrics,
  withScore,
  zeroVarianceRatio,
  type StdCalLevel,
} from './groups.js';
import type { AdvantageStrategy } from '../../parts/advantage-part.js';
import { eachTrainedToken, rowSpans } from '../../parts/rows.js';
import { byTask, membersOf, type Compared } from './runs.js';

/** The rewards of the rollouts of one task. */
export interface RewardGroup {
  /**
   * Key that distinguishes the groups of one batch. Also seeds the random choices within the group.
   */
  readonly key: string;
  readonly rewards: readonly number[];
}

/**
 * Returns one score per reward, in order. `all` contains the rewards of all groups of the batch.
 */
export type ScoreGroup = (
  group: RewardGroup,
  all: readonly number[],
) => {
  readonly scores: readonly number[];
  /**
   * Metrics of the group. Metrics of all groups are combined as
   * `group_advantages/<name>/{mean,max,min}`.
   */
  readonly metrics: Metrics;
};

export interface GroupOptions {
  /** Unit that is compared within a group: rollouts or model calls. @default "runs" */
  readonly compare?: Compared;
  /**
   * Returns the reward of a rollout, given its calls, which are sorted by ascending step. Not used
   * in train batches, where the reward of a rollout is the sum of the token rewards of its rows.
   * @default the reward of the last call
   */
  readonly read?: (run: readonly Experience[]) => number;
}

/**
 * Makes the advantage functions for explore steps and for train batches from a function that scores
 * a group. A group consists of the rollouts of one task. Advantages and returns are both score *
 * actionMask. On explore steps, the output contains the groups one after another, in order of first
 * appearance. Adds the metric `group_advantages/zero_variance_ratio`. On explore steps, also adds
 * `group_advantages/uneven_runs`, the number of rollouts whose calls have different rewards, if
 * there are any.
 */
export function byGroup(
  score: ScoreGroup,
  { compare = 'runs', read = rewardOfRun }: GroupOptions = {},
): Required<Omit<AdvantageStrategy, 'needs'>> {
  return {
    advantage: overExperiences(score, compare, read),
    batchAdvantage: overRows(score, compare),
  };
}

/**
 * Scores a group as (R_i - mean(R)) / (std(R) + epsilon), where `level` selects the standard
 * deviation: that of the group, that of the batch, or none.
 */
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

function overExperiences(
  score: ScoreGroup,
  compare: Compared,
  read: (run: readonly Experience[]) => number,
): AdvantageFn {
  return (experiences) => {
    const tasks = byTask(experiences).map((task) => membersOf(task, compare));
    const groups = tasks.map((runs): RewardGroup => ({
      key: taskKey(runs[0]![0]!.eid),
      rewards: runs.map(read),
    }));
    const { scores, metrics } = scoreAll(score, groups);
    return {
      experiences: tasks.flatMap((runs, g) =>
        runs.flatMap((run, i) => run.map((call) => withScore(call, scores[g]![i]!))),
      ),
      metrics: { ...metrics, ...unevenMetrics(tasks.flat()) },
    };
  };
}

function overRows(score: ScoreGroup, compare: Compared): BatchAdvantageFn {
  return (input) => {
    const tasks = runsByTask(input, compare);
    const returns = rowReturns(input);
    const groups = [...tasks].map(([task, runs]): RewardGroup => ({
      key: `${task}/${input.actionMask.length}`,
      rewards: runs.map((rows) => runReturn(rows, returns, input)),
    }));
    const { scores, metrics } = scoreAll(score, groups);
    const byRow = new Float64Array(returns.length);
    for (const [g, runs] of [...tasks.values()].entries())
      for (const [i, rows] of runs.entries()) for (const row of rows) byRow[row] = scores[g]![i]!;
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
  const scored = groups.map((group) => readScores(score(group, all), group));
  const ofGroups = gatherMetrics(
    scored.map(({ metrics }) => metrics),
    'group_advantages',
  );
  return {
    scores: scored.map(({ scores }) => scores),
    metrics: { ...ofGroups, 'group_advantages/zero_variance_ratio': zeroVarianceRatio(rewards) },
  };
}

/**
 * Checks the result of a score function, which may be that of a plugin.
 * @throws RangeError for a result that is not a score per reward
 */
function readScores(result: unknown, { rewards }: RewardGroup): ReturnType<ScoreGroup> {
  const by = returnedBy('The function given to byGroup', (message) => new RangeError(message));
  const read = by.fields(result, ['scores', 'metrics'], '{ scores, metrics }');
  const scores = Array.from((read.scores ?? []) as ArrayLike<number>);
  if (scores.length !== rewards.length || !scores.every((one) => Number.isFinite(one)))
    throw by.refuse(read.scores, `${rewards.length} finite numbers, one per reward`, ' as scores');
  return { scores, metrics: (read.metrics ?? {}) as Metrics };
}

/**
 * Groups the row indices by task, and within a task by rollout, both in order of first appearance.
 */
function runsByTask(
  { tasks, runs }: AdvantageInput,
  compare: Compared,
): ReadonlyMap<number, readonly (readonly number[])[]> {
  const byTaskAndRun = new Map<number, Map<number, number[]>>();
  for (const [row, task] of tasks.entries()) {
    const own = byTaskAndRun.get(task) ?? new Map<number, number[]>();
    byTaskAndRun.set(task, own);
    const run = compare === 'calls' ? row : (runs?.[row] ?? row);
    own.set(run, [...(own.get(run) ?? []), row]);
  }
  return new Map([...byTaskAndRun].map(([task, own]) => [task, [...own.values()]]));
}

/** Returns the sum of the rewards of each row's tokens, trained or not. [B] */
const rowReturns = ({ offsets, rewards }: AdvantageInput): readonly number[] =>
  rowSpans(offsets).map(({ start, end }) =>
    rewards.subarray(start, end).reduce((sum, reward) => sum + reward, 0),
  );

/**
 * Returns the sum of the rewards of a rollout's rows. The reward of the rollout itself counts once,
 * with the row of its last step.
 */
function runReturn(
  rows: readonly number[],
  returns: readonly number[],
  { runRewards, steps }: AdvantageInput,
): number {
  const stepOf = (row: number): number => steps?.[row] ?? row;
  const last = rows.reduce((a, b) => (stepOf(b) >= stepOf(a) ? b : a));
  return rows.reduce(
    (sum, row) => sum + returns[row]! - (row === last ? 0 : (runRewards?.[row] ?? 0)),
    0,
  );
}

/** Returns `advantages` and `returns`, both equal to score * actionMask. */
function spread(
  input: AdvantageInput,
  scores: Float64Array,
): Pick<AdvantageOutput, 'advantages' | 'returns'> {
  const advantages = new Float32Array(input.actionMask.length);
  eachTrainedToken(input, (t, row) => (advantages[t] = scores[row]!));
  return { advantages, returns: advantages.slice() };
}
