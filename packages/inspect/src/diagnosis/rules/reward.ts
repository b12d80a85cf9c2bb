/** Rules for rewards that teach nothing, or the wrong thing. */
import { mean } from '@trinity-rft/core';
import {
  correlationWithin,
  runsOf,
  type Correlation,
  type RecordedRun,
} from '../evidence/groups.js';
import { percent, short, stepsOf } from '../evidence/format.js';
import { partNames, reasonFor } from '../evidence/parts.js';
import type { RunRecord } from '../evidence/record.js';
import type { Evidence, Rule } from '../evidence/rule.js';
import {
  evalName,
  filteredCount,
  isSolved,
  leastSteps,
  lineThrough,
  most,
  least,
  flatRatio,
  recent,
  recentShare,
  recentlyAny,
  rewardCourse,
  solvedShare,
  trendOf,
  valuesOf,
  type Measured,
  type RewardCourse,
} from '../evidence/series.js';
import { shareRule } from './counts.js';

const equalGroups = 0.8;
const unevenShare = 0.1;
const largeGroups = 4;
const [strong, enoughRuns, enoughSpread] = [0.8, 32, 0.1];
const [gradedRewards, lengthTrend, trendSteps] = [5, 1.5, 10];
const collapseShare = 0.5;
const collapseSteps = 8;
const [lossShare, leastAbove] = [0.9, 0.1];
const flatSteps = 40;

function nowOf({ role, metric, points, now }: RewardCourse): Measured {
  const shown = recent(points);
  return { role, metric, from: shown[0]?.step ?? 0, to: shown.at(-1)?.step ?? 0, value: now };
}

const over = ({ points, ...course }: RewardCourse, value: number): Measured => ({
  role: course.role,
  metric: course.metric,
  from: points[0]?.step ?? 0,
  to: points.at(-1)?.step ?? 0,
  value,
});

/**
 * Returns evidence that every reward of the run is the same number. Returns undefined if rewards
 * differ, or if `isMeant` rejects the number.
 */
function alwaysSame(run: RunRecord, isMeant: (reward: number) => boolean): Evidence | undefined {
  const course = rewardCourse(run);
  if (!course || course.lowest !== course.highest || !isMeant(course.highest)) return undefined;
  const seen = nowOf(course);
  return {
    text: `Every attempt of ${stepsOf(over(course, course.now))} got ${short(course.highest)}.`,
    numbers: [seen],
    rollouts: { sort: 'responseTokens', descending: true },
  };
}

const rewardFloor: Rule = {
  name: 'reward-floor',
  title: 'No attempt is ever rewarded',
  when: 'every reward of the run is the same number, 0 or less',
  advice:
    'Read some answers. If right ones score 0, the reward is too strict (spaces, units, format). If all are wrong, use easier tasks, give a part of the reward for what the model can reach, or warm up with worked examples (sft).',
  explains: ['no-variance', 'dropped-groups', 'no-gradient'],
  look: (run) => alwaysSame(run, (reward) => reward <= 0),
};

const rewardCeiling: Rule = {
  name: 'reward-ceiling',
  title: 'Every attempt gets the same reward',
  when: 'every reward of the run is the same number above 0',
  advice:
    'There is nothing to learn from. Read some answers: a reward that anything gets is a fault of the reward function, which must tell good answers from better ones. If the number is the highest that the reward can give, take harder tasks; if it is a low one, easier tasks or a finer reward.',
  explains: ['no-variance', 'dropped-groups', 'no-gradient'],
  look: (run) => alwaysSame(run, (reward) => reward > 0),
};

const varianceSources = [
  ['explorer', 'experience_pipeline/group_advantages/zero_variance_ratio'],
  ['trainer', 'critic/group_advantages/zero_variance_ratio'],
] as const;

const filteredShare = 0.2;

const filteredGroups: Rule = {
  name: 'filtered-groups',
  title: 'An operator drops what answers are compared with',
  when: `at least ${percent(equalGroups)} of the groups of recent steps have equal rewards after operators have dropped at least ${percent(filteredShare)} of the experiences, although rewards differ before`,
  advice:
    'Answers are compared with those that operators leave of their group. Remove the operator, or use raft, which imitates the best run of each task.',
  explains: ['no-variance', 'no-gradient', 'dropped-groups'],
  look: (run) => {
    const equal = recentlyAny(run, varianceSources);
    const course = rewardCourse(run);
    if (isRaft(run) || !equal || equal.value < equalGroups) return undefined;
    if (!course || course.lowest === course.highest) return undefined;
    const counted = run
      .names('explorer')
      .filter((name) => /^experience_pipeline\/.+\/filtered_count$/.test(name))
      .filter((name) => valuesOf(run.points('explorer', name)).some((count) => count > 0));
    const all = [filteredCount, 'experience_pipeline/experience_count'];
    const seen = recentShare(run, 'explorer', counted, all);
    if (!seen || seen.value < filteredShare) return undefined;
    return {
      text: `${counted.map((name) => name.split('/')[1]).join(' and ')} dropped ${percent(seen.value)} of the experiences of ${stepsOf(seen)} before answers were compared; in ${percent(equal.value)} of the groups that were left, all attempts got the same reward.`,
      numbers: [seen, equal],
    };
  },
};

/** True if the advantage function imitates selected runs, from equal rewards too. */
const isRaft = (run: RunRecord): boolean =>
  run.names('explorer').includes('experience_pipeline/raft/kept_run_ratio');

const unevenRewards = shareRule({
  name: 'uneven-rewards',
  title: 'The calls of an attempt have different rewards',
  when: `in at least ${percent(unevenShare)} of the attempts of recent steps, calls have different rewards`,
  advice:
    'Attempts are compared by the reward of their last call; the others have no effect. Give every call of an attempt the same reward (with trinity serve: answers to compare different run_ids, or none), use an algorithm that reads rewards of steps (gigpo), or compare calls (advantage_fn_args: { compare: calls }).',
  counted: ['experience_pipeline/group_advantages/uneven_runs'],
  outOf: ['rollout/runs/ok'],
  atLeast: unevenShare,
  says: (steps) => `of the attempts of ${steps} have calls with different rewards`,
  rollouts: { sort: 'id', descending: true },
});

const noVariance: Rule = {
  name: 'no-variance',
  title: 'Attempts at a task all get the same reward',
  when: `at least ${percent(equalGroups)} of the groups of recent steps have equal rewards, while the mean reward has gone less than ${percent(solvedShare)} of its way from the lowest to the highest`,
  advice:
    'Equal attempts have advantage 0. Take tasks that are sometimes solved (data_selector, difficulty_based), larger groups (repeat_times 16 to 32), or a finer reward; where all wrong answers get the same part of it, one that gives them nothing.',
  explains: ['no-gradient', 'dropped-groups'],
  look: (run) => {
    if (isSolved(run) || isRaft(run)) return undefined;
    const seen = recentlyAny(run, varianceSources);
    const share = seen?.value ?? recordedShare(run);
    if (share === undefined || share < equalGroups) return undefined;
    const where = seen ? stepsOf(seen) : 'the newest rollouts';
    return {
      text: `In ${percent(share)} of the groups of ${where}, all attempts got the same reward.${equalParts(run)}`,
      numbers: seen ? [seen] : [],
      rollouts: { sort: 'id', descending: true, ids: equalExamples(run) },
    };
  },
};

const groupsOf = (run: RunRecord): readonly (readonly RecordedRun[])[] =>
  [...Map.groupBy(runsOf(run.rollouts), ({ group }) => group).values()].filter(
    (group) => group.length > 1,
  );

const isEqual = (group: readonly RecordedRun[]): boolean =>
  new Set(group.map(({ last }) => last.reward)).size === 1;

/**
 * Returns sentences with the mean of each scorer over the rollouts in groups with equal rewards,
 * and with a reason of each scorer.
 */
function equalParts(run: RunRecord): string {
  const runs = groupsOf(run).filter(isEqual).flat();
  const names = partNames(runsOf(run.rollouts));
  const [first] = runs;
  if (first === undefined || names.length === 0) return '';
  const means = names.map(
    (name) => `${name} ${short(mean(runs.map(({ last }) => last.metrics[name] ?? 0)))}`,
  );
  return ` There the scorers gave on average ${means.join(', ')}.${names.map((name) => reasonFor(name, first)).join('')}`;
}

/**
 * Returns the share of recorded groups whose rewards are all equal, or undefined if there are too
 * few groups or explore steps. Used for advantage functions that do not report `zero_variance_ratio`.
 */
function recordedShare(run: RunRecord): number | undefined {
  const groups = groupsOf(run);
  const steps = new Set(run.rollouts.map(({ batch }) => batch)).size;
  return groups.length < largeGroups || steps < leastSteps
    ? undefined
    : groups.filter(isEqual).length / groups.length;
}

const equalExamples = (run: RunRecord): readonly number[] =>
  groupsOf(run)
    .filter(isEqual)
    .slice(0, 3)
    .flatMap((group) => group.map(({ last }) => last.id));

const followsLength: Rule = {
  name: 'reward-follows-length',
  title: 'The reward follows the length of the answer',
  when: `among attempts at the same task with as many model calls, reward and trained tokens correlate by at least ${strong} either way, over at least ${enoughRuns} attempts whose lengths differ by at least ${percent(enoughSpread)}; and either there are at least ${gradedRewards} different rewards, or answers have become ${lengthTrend} times as long (or as short) over ${trendSteps} steps. Truncated answers are left out`,
  advice:
    'The model learns to write more (or less), not better. Score the result and not its size; read the longest and shortest answers with the same reward. Graded scorers, such as edit distances, give a part of the reward to nonsense of the right length: score right or wrong beside them, or count only what passes a threshold.',
  look: (run) => {
    const whole = runsOf(run.rollouts).filter(({ isTruncated }) => !isTruncated);
    const found = lengthCorrelation(whole, ({ last }) => last.reward);
    if (!found || found.runs < enoughRuns || found.spread < enoughSpread) return undefined;
    if (Math.abs(found.value) < strong) return undefined;
    // Right and wrong answers often differ in length, which is no fault of the reward.
    const rewards = new Set(whole.map(({ last }) => last.reward));
    if (rewards.size < gradedRewards && !hasTrend(run, found.value)) return undefined;
    return {
      text: `Within groups, ${found.value > 0 ? 'longer' : 'shorter'} answers got the higher rewards: correlation ${found.value.toFixed(2)} over ${found.runs} attempts.${lengthParts(whole)}`,
      numbers: numbersOf(run, [
        ['explorer', 'rollout/response_tokens/mean'],
        ['trainer', 'response_length/mean'],
      ]),
      rollouts: { sort: 'responseTokens', descending: true },
    };
  },
};

/**
 * Correlation of a reward with the trained tokens, among attempts at the same task with the same
 * number of model calls.
 */
const lengthCorrelation = (
  runs: readonly RecordedRun[],
  rewardOf: (run: RecordedRun) => number | undefined,
): Correlation | undefined =>
  correlationWithin(
    runs,
    ({ group, calls }) => `${group}/${calls}`,
    ({ trainedTokens }) => trainedTokens,
    rewardOf,
  );

/** Sentences about the scorers that correlate with the length of responses. */
function lengthParts(runs: readonly RecordedRun[]): string {
  const longest = runs.reduce((a, b) => (b.trainedTokens > a.trainedTokens ? b : a));
  return partNames(runs)
    .flatMap((name) => {
      const found = lengthCorrelation(runs, ({ last }) => last.metrics[name]);
      if (!found || Math.abs(found.value) < strong) return [];
      return [
        ` The scorer is ${name} (correlation ${found.value.toFixed(2)}).${reasonFor(name, longest)}`,
      ];
    })
    .join('');
}

/**
 * Returns true if responses have become longer over the run and longer responses got higher
 * rewards, or if they have become shorter and shorter responses got higher rewards.
 */
function hasTrend(run: RunRecord, correlation: number): boolean {
  const points = run.points('explorer', 'rollout/response_tokens/mean');
  if (points.length < trendSteps) return false;
  const [first, now] = [mean(valuesOf(points.slice(0, 3))), mean(valuesOf(recent(points)))];
  return correlation > 0 ? now >= lengthTrend * first : now <= first / lengthTrend;
}

function numbersOf(
  run: RunRecord,
  metrics: Parameters<typeof recentlyAny>[1],
): readonly Measured[] {
  const seen = recentlyAny(run, metrics);
  return seen ? [seen] : [];
}

const [formatCorrelation, formatName] = [0.95, /(?:^|_)format(?:_|$)/];

const followsFormat: Rule = {
  name: 'reward-follows-format',
  title: 'The reward depends only on the format',
  when: `within groups, the reward and a part of it whose name says "format" correlate by at least ${formatCorrelation}, over at least ${enoughRuns} attempts`,
  advice:
    'What is learned is the layout of the answer. Give the format a small share (0.1 to 0.2) of the reward and the result the rest; if nothing is solved, take easier tasks.',
  look: (run) => {
    const runs = runsOf(run.rollouts);
    const names = new Set(runs.flatMap(({ last }) => Object.keys(last.metrics)));
    for (const name of names) {
      if (!formatName.test(name)) continue;
      const found = correlationWithin(
        runs,
        ({ group }) => group,
        ({ last }) => last.metrics[name],
      );
      if (!found || found.runs < enoughRuns || found.value < formatCorrelation) continue;
      return {
        text: `Within groups, the reward goes with ${name}: correlation ${found.value.toFixed(2)} over ${found.runs} attempts.`,
        numbers: numbersOf(run, [['explorer', `rollout/${name}/mean`]]),
        rollouts: { sort: 'reward', descending: true },
      };
    }
    return undefined;
  },
};

export const rewardCollapse: Rule = {
  name: 'reward-collapse',
  title: 'The reward has fallen',
  when: `over at least ${collapseSteps} steps, the mean reward has lost at least ${percent(collapseShare)} of what the best three steps in a row had gained (a fifth of the range of rewards, or more), or at least ${percent(lossShare)} of how far they lay above the lowest reward`,
  advice:
    'The learning rate is usually too large: resume from a checkpoint before the fall with a third of it. Also look at actor/grad_norm and actor/entropy at that step.',
  explains: ['entropy-collapse', 'no-variance', 'identical-answers', 'eval-falls', 'no-gradient'],
  look: (run) => {
    const course = rewardCourse(run);
    if (!course || course.points.length < collapseSteps) return undefined;
    const { points, lowest, highest } = course;
    const smooth = points.slice(2).map(({ step }, i) => ({
      step,
      value: mean(valuesOf(points.slice(i, i + 3))),
    }));
    const best = smooth.reduce((a, b) => (b.value > a.value ? b : a));
    const now = mean(valuesOf(points.slice(-3)));
    const start = Math.min(mean(valuesOf(points.slice(0, 3))), best.value);
    const gained = best.value - Math.min(start, now);
    const lost = best.value - now;
    const isUndone = gained >= (highest - lowest) / 5 && lost >= collapseShare * gained;
    const above = best.value - lowest;
    const isGone = above >= leastAbove * (highest - lowest) && lost >= lossShare * above;
    if (lost <= 0 || (!isUndone && !isGone)) return undefined;
    const half = smooth.find(
      ({ step, value }) => step > best.step && value <= best.value - lost / 2,
    );
    const when = half ? `, with half of the fall by step ${half.step}` : '';
    return {
      text: `The mean reward was ${short(best.value)} at step ${best.step} and is ${short(now)} now${when}.`,
      numbers: [over({ ...course, points: points.slice(-3) }, now)],
      rollouts: { sort: 'id', descending: true },
    };
  },
};

const flatReward: Rule = {
  name: 'flat-reward',
  title: 'The reward does not rise',
  when: `over at least ${flatSteps} steps, the slope of the mean reward, over the steps and over the logarithm of their rank, is less than ${flatRatio} times its standard error, while less than ${percent(solvedShare)} of the way to the highest reward is covered and no other rule applies`,
  advice:
    'The learning rate is most often too small: try three times as much, by the table of the guide on first settings. More runs in a step make its direction less a matter of chance.',
  isLastResort: true,
  look: (run) => {
    const course = rewardCourse(run);
    if (!course || course.points.length < flatSteps || isSolved(run)) return undefined;
    if (trendOf(course.points) === 'rose') return undefined;
    const { slope, error } = lineThrough(course.points);
    const values = valuesOf(course.points);
    return {
      text: `Over ${values.length} steps the mean reward stayed between ${short(least(values))} and ${short(most(values))}; its slope is ${short(slope)} per step, with a standard error of ${short(error)}.`,
      numbers: [nowOf(course)],
    };
  },
};

const evalDrop = 0.1;

const evalFalls: Rule = {
  name: 'eval-falls',
  title: 'An evaluation falls while the training reward rises',
  when: `the latest result of an evaluation lies at least ${evalDrop} times its best below that best, and its 95 % interval below that of the best, while the mean training reward is higher than at that time`,
  advice:
    'The model memorizes the training tasks, or exploits a weakness of the training reward. Use the checkpoint of the best evaluation, more tasks and fewer epochs; compare the two rewards.',
  look: (run) => {
    const course = rewardCourse(run);
    if (!course) return undefined;
    for (const name of run.names('explorer')) {
      if (!evalName.test(name)) continue;
      const found = fallOf(run, name, course);
      if (found) return found;
    }
    return undefined;
  },
};

function fallOf(run: RunRecord, metric: string, course: RewardCourse): Evidence | undefined {
  const points = run.points('explorer', metric).filter(({ value }) => Number.isFinite(value));
  const last = points.at(-1);
  const best = points.reduce((a, b) => (b.value > a.value ? b : a), points[0] ?? noPoint);
  if (!last || last.value > best.value - evalDrop * Math.abs(best.value)) return undefined;
  const bound = (side: 'low' | 'high', step: number, otherwise: number): number =>
    run.points('explorer', `${metric}/ci95_${side}`).find((point) => point.step === step)?.value ??
    otherwise;
  if (bound('high', last.step, last.value) >= bound('low', best.step, best.value)) return undefined;
  const then = course.points.findLast(({ step }) => step <= best.step) ?? course.points[0];
  if (then === undefined || course.now <= then.value) return undefined;
  const seen = { role: 'explorer', metric, from: last.step, to: last.step } as const;
  return {
    text: `${metric} was ${short(best.value)} at step ${best.step} and is ${short(last.value)}, while the training reward went from ${short(then.value)} to ${short(course.now)}.`,
    numbers: [{ ...seen, value: last.value }, nowOf(course)],
  };
}

const noPoint = { step: 0, value: -Infinity };

export const rewardRules: readonly Rule[] = [
  rewardFloor,
  rewardCeiling,
  filteredGroups,
  unevenRewards,
  noVariance,
  followsLength,
  followsFormat,
  evalFalls,
  flatReward,
];
