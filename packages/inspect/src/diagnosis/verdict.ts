/** Verdict on a run: whether it has learned, and the cause if it has not. */
import type { Interval, PairedDifference } from '@trinity-rft/explorer';
import { diagnose } from './diagnose.js';
import { short } from './evidence/format.js';
import type { MetricRole, Point, RunRecord } from './evidence/record.js';
import type { Finding } from './evidence/rule.js';
import { evalName, newestOfSteps, rewardCourse, trendOf, valuesOf } from './evidence/series.js';

export interface Verdict {
  readonly kind: keyof typeof headlines;
  readonly headline: string;
  /** One sentence with the measured values that the verdict is based on. */
  readonly text: string;
  /** The decisive evaluation; undefined if the training reward decides. */
  readonly evaluation: EvaluationChange | undefined;
  /** The first finding of `diagnose`: the cause, if the run has not learned. */
  readonly cause: Finding | undefined;
}

const headlines = {
  learned: 'It learned.',
  worse: 'It got worse.',
  same: 'It did not learn.',
  /** The training reward rose, but the difference between evaluations may be chance. */
  unclear: 'Not clear yet.',
  /** The training reward rose, but no set was evaluated twice. */
  notEvaluated: 'The training reward rose.',
} as const;

interface Change {
  readonly change: 'rose' | 'fell' | 'same';
  readonly text: string;
}

/** Change of an evaluation set from its first to its last evaluation. */
export interface EvaluationChange extends Change {
  readonly set: string;
  readonly role: MetricRole;
  /** Name of the compared metric, such as `eval/SET/reward/mean@1`. */
  readonly metric: string;
  readonly before: Scored;
  readonly after: Scored;
  readonly difference: number;
  /** 95 % confidence interval of the difference. */
  readonly interval: Interval | undefined;
  /** Comparison task by task; undefined if only the two means are known. */
  readonly paired: PairedDifference | undefined;
}

interface Scored extends Point {
  /** Version of the evaluated policy: the train step after which its weights were published. */
  readonly version: number;
  readonly interval: Interval | undefined;
}

/**
 * Compares the answers of the first and the last evaluation of a set, task by task. Returns
 * undefined if the answers of these evaluations are not recorded.
 */
export type PairedOf = (evaluation: {
  readonly set: string;
  readonly metric: string;
  readonly difference: number;
  readonly taskCount: number | undefined;
}) => PairedDifference | undefined;

/**
 * Returns the verdict on a run. If the run was evaluated at least twice, it counts as better or
 * worse only if the interval of the difference between the first and the last evaluation excludes
 * 0. Otherwise the trend of the training reward decides. Returns undefined if there are neither
 * evaluations nor rewards.
 */
export function verdictOf(run: RunRecord, pairedOf?: PairedOf): Verdict | undefined {
  const evaluated = evaluationChanges(run, pairedOf);
  const reward = trainingReward(run);
  const evaluation = evaluated.find(({ change }) => change !== 'same') ?? evaluated[0];
  const seen = evaluation ?? reward;
  if (!seen) return undefined;
  const kind = kindOf(seen.change, evaluation !== undefined, reward);
  const [cause] = diagnose(run);
  return { kind, headline: headlines[kind], text: seen.text, evaluation, cause };
}

function kindOf(
  change: Change['change'],
  isEvaluated: boolean,
  reward: Change | undefined,
): Verdict['kind'] {
  if (change === 'fell') return 'worse';
  if (change === 'rose') return isEvaluated ? 'learned' : 'notEvaluated';
  return reward?.change === 'rose' ? 'unclear' : 'same';
}

/**
 * Returns the change of each set that was evaluated at least twice. Uses the evaluations during
 * training or, if a set has fewer than two of them, those of `trinity eval`. Compares rewards, or
 * accuracies if a set has no reward.
 */
export function evaluationChanges(
  run: RunRecord,
  pairedOf: PairedOf = () => undefined,
): readonly EvaluationChange[] {
  const found = new Map<string, EvaluationChange>();
  for (const role of ['explorer', 'bench'] as const)
    for (const key of ['reward', 'accuracy'])
      for (const metric of run.names(role)) {
        const [, set, measured] = evalName.exec(metric) ?? [];
        if (set === undefined || measured !== key || found.has(set)) continue;
        const changed = changeOf(run, { role, metric, set }, pairedOf);
        if (changed) found.set(set, changed);
      }
  return [...found.values()];
}

function changeOf(
  run: RunRecord,
  { role, metric, set }: Pick<EvaluationChange, 'role' | 'metric' | 'set'>,
  pairedOf: PairedOf,
): EvaluationChange | undefined {
  const points = newestOfSteps(
    run.points(role, metric).filter(({ value }) => Number.isFinite(value)),
  );
  const [first, last] = [points.at(0), points.at(-1)];
  if (!first || !last || first.step === last.step) return undefined;
  const at = (name: string, step: number): number | undefined =>
    run.points(role, name).findLast((each) => each.step === step)?.value;
  const scored = (point: Point): Scored => {
    const [low, high] = [
      at(`${metric}/ci95_low`, point.step),
      at(`${metric}/ci95_high`, point.step),
    ];
    return {
      ...point,
      version: at('eval/model_version', point.step) ?? point.step,
      interval: low === undefined || high === undefined ? undefined : { low, high },
    };
  };
  const [before, after] = [scored(first), scored(last)];
  const difference = last.value - first.value;
  const taskCount = at(`${metric.split('/', 1)[0]}/${set}/task_count`, last.step);
  const paired = pairedOf({ set, metric, difference, taskCount });
  const interval = paired?.interval ?? differenceInterval(before, after);
  const { low, high } = interval ?? { low: difference, high: difference };
  const change = low > 0 ? 'rose' : high < 0 ? 'fell' : 'same';
  const [from, to] = [short(first.value), short(last.value)];
  const tasks =
    taskCount === undefined ? '' : ` with ${taskCount} task${taskCount === 1 ? '' : 's'}`;
  const chance = change === 'same' ? `, which chance alone may do${tasks}` : '';
  const verb = change === 'same' ? 'went' : change;
  const course = from === to ? `stayed at ${to}` : `${verb} from ${from} to ${to}${chance}`;
  const text = `On the evaluation tasks "${set}", the ${measuredAs(metric)} ${course}.`;
  return { change, text, set, role, metric, before, after, difference, interval, paired };
}

/**
 * Returns a sentence for each set with the newest score of a benchmark. Returns none for a run that
 * has trained.
 */
export function benchmarkScores(run: RunRecord): readonly string[] {
  if (run.names('trainer').length > 0) return [];
  const found = new Map<string, string>();
  for (const key of ['reward', 'accuracy'])
    for (const metric of run.names('bench')) {
      const [, set, measured] = evalName.exec(metric) ?? [];
      if (set === undefined || measured !== key || found.has(set)) continue;
      const [score, low, high] = ['', '/ci95_low', '/ci95_high'].map(
        (part) => run.points('bench', `${metric}${part}`).at(-1)?.value,
      );
      if (score === undefined || !Number.isFinite(score)) continue;
      const interval =
        low === undefined || high === undefined
          ? ''
          : ` (95 % interval ${short(low)} to ${short(high)})`;
      found.set(
        set,
        `On the evaluation tasks "${set}", the ${measuredAs(metric)} is ${short(score)}${interval}.`,
      );
    }
  return [...found.values()];
}

const measuredAs = (metric: string): string =>
  evalName.exec(metric)?.[2] === 'accuracy' ? 'accuracy' : 'mean reward';

/**
 * Computes the interval of the difference of two means from the intervals of both. Treats the means
 * as independent, so the interval is wider than that of paired tasks. Source: Newcombe 1998, method
 * 10, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.
 */
function differenceInterval(before: Scored, after: Scored): Interval | undefined {
  if (!before.interval || !after.interval) return undefined;
  const difference = after.value - before.value;
  const below = Math.hypot(after.value - after.interval.low, before.interval.high - before.value);
  const above = Math.hypot(after.interval.high - after.value, before.value - before.interval.low);
  return { low: difference - below, high: difference + above };
}

function trainingReward(run: RunRecord): Change | undefined {
  const course = rewardCourse(run);
  if (!course) return undefined;
  const values = valuesOf(course.points);
  const change = trendOf(course.points);
  const [from, to] = [short(values[0] ?? 0), short(values.at(-1) ?? 0)];
  if (course.lowest === course.highest)
    return { change, text: `The training reward stayed at ${to}.` };
  const verb = change === 'same' ? 'did not move more than by chance,' : change;
  return { change, text: `The training reward ${verb} from ${from} to ${to}.` };
}
