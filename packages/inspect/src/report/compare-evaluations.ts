/**
 * Compares two evaluations task by task, and finds differences for which a build in continuous
 * integration must fail.
 */
import { ConfigError } from '@trinity-rft/core';
import { pairedDifference, type PairedDifference } from '@trinity-rft/explorer';
import type { EvaluatedTask, Evaluation } from './evaluate-run.js';

/** Comparison of the last checkpoint of an evaluation with a baseline, for one set. Plain data. */
export interface Comparison {
  readonly set: string;
  /** Name of the compared metric. */
  readonly key: string;
  readonly before: number;
  readonly after: number;
  readonly difference: PairedDifference;
  /**
   * p-value of the two-sided exact McNemar test. Undefined unless every value is 0 or 1.
   */
  readonly mcnemar: number | undefined;
  /** Tasks whose value changed, the largest changes first. */
  readonly flips: readonly Flip[];
}

interface Flip extends Pick<EvaluatedTask, 'row' | 'prompt'> {
  readonly before: number;
  readonly after: number;
  /** Answer of each side, as in {@link EvaluatedTask}; undefined if every rollout failed. */
  readonly answers: readonly [before: string | undefined, after: string | undefined];
}

/**
 * Compares the last checkpoint of an evaluation with a baseline, for each set.
 * @param baseline an earlier evaluation, whose last checkpoint is the baseline. @default undefined:
 * the baseline is the first checkpoint of `evaluation`
 * @throws ConfigError when the two evaluations have different sets or tasks
 */
export function compareEvaluations(
  evaluation: Evaluation,
  baseline?: Evaluation,
): readonly Comparison[] {
  if (baseline) assertSameSets(evaluation, baseline);
  return evaluation.sets.map((own) => {
    const other = baseline?.sets.find(({ set }) => set === own.set) ?? own;
    const [last, first] = [own.checkpoints.length - 1, baseline ? other.checkpoints.length - 1 : 0];
    const tasks = own.tasks.map((task, i) => ({ task, old: other.tasks[i] ?? task }));
    const [before, after] = [
      tasks.map(({ old }) => old.values[first] ?? 0),
      tasks.map(({ task }) => task.values[last] ?? 0),
    ];
    const difference = pairedDifference(before, after);
    return {
      set: own.set,
      key: own.key,
      before: other.checkpoints[first]?.mean ?? 0,
      after: own.checkpoints[last]?.mean ?? 0,
      difference,
      mcnemar: [...before, ...after].every((value) => value === 0 || value === 1)
        ? mcnemar(difference.better, difference.worse)
        : undefined,
      flips: tasks
        .map(({ task: { row, prompt, answers }, old }, i): Flip => ({
          row,
          prompt,
          before: before[i] ?? 0,
          after: after[i] ?? 0,
          answers: [old.answers[first] ?? undefined, answers[last] ?? undefined],
        }))
        .filter((flip) => flip.before !== flip.after)
        .toSorted((a, b) => changeOf(b) - changeOf(a)),
    };
  });
}

/** True for the output of `trinity eval --json`: an evaluation that can be a baseline. */
export function isEvaluation(value: unknown): value is Evaluation {
  const { sets } = (value ?? {}) as Partial<Evaluation>;
  return (
    Array.isArray(sets) &&
    sets.every(
      (one: Partial<Evaluation['sets'][number]> | null) =>
        typeof one?.set === 'string' &&
        Array.isArray(one.checkpoints) &&
        one.checkpoints.length > 0 &&
        Array.isArray(one.tasks) &&
        one.tasks.every(isTask),
    )
  );
}

const isTask = (task: Partial<EvaluatedTask> | null): boolean =>
  typeof task?.digest === 'string' && Array.isArray(task.values) && Array.isArray(task.answers);

const changeOf = ({ before, after }: Flip): number => Math.abs(after - before);

function assertSameSets({ sets }: Evaluation, baseline: Evaluation): void {
  const refuse = (what: string): ConfigError =>
    new ConfigError(
      `The baseline cannot be compared: ${what}. Evaluate it again on these tasks, with --json.`,
      { code: 'BASELINE_OTHER' },
    );
  for (const { set, key, tasks } of sets) {
    const other = baseline.sets.find((each) => each.set === set);
    if (!other)
      throw refuse(
        `it has no set ${set}, only ${baseline.sets.map((each) => each.set).join(', ')}`,
      );
    if (other.key !== key) throw refuse(`set ${set} has ${other.key} there, and ${key} here`);
    if (other.tasks.length !== tasks.length)
      throw refuse(`set ${set} has ${other.tasks.length} tasks there, and ${tasks.length} here`);
    const changed = tasks.findIndex(({ digest }, i) => digest !== other.tasks[i]?.digest);
    if (changed !== -1) throw refuse(`row ${tasks[changed]?.row} of set ${set} has changed`);
  }
  const names = new Set(sets.map(({ set }) => set));
  const missing = baseline.sets.flatMap(({ set }) => (names.has(set) ? [] : [set]));
  if (missing.length > 0) throw refuse(`its sets ${missing.join(', ')} are not evaluated here`);
}

/**
 * Returns the p-value of the two-sided exact McNemar test: the probability that as many fair coin
 * flips split at least as unevenly as `better` and `worse`. Returns 1 if no task changed.
 */
export function mcnemar(better: number, worse: number): number {
  const [n, least] = [better + worse, Math.min(better, worse)];
  // Computed in logarithms, because with a thousand changes the first terms would underflow.
  let [log, sum] = [-n * Math.LN2, 0];
  for (let k = 0; k <= least; k++) {
    sum += Math.exp(log);
    log += Math.log((n - k) / (k + 1));
  }
  return Math.min(1, 2 * sum);
}

export interface Expectations {
  /** Minimum mean of each metric. */
  readonly lowest: ReadonlyMap<string, number>;
  /**
   * Amount by which the mean of a set may fall below the baseline.
   * @default no limit
   */
  readonly margin?: number | undefined;
}

/**
 * Returns one sentence for each expectation that is not met. A fall counts only if the whole 95 %
 * interval of the difference lies below `-margin`, so that noise does not count as a fall.
 * @throws ConfigError for a metric that no set reports and, with a margin, for a set with too few
 * tasks for an interval
 */
export function unmetExpectations(
  { sets }: Evaluation,
  comparisons: readonly Comparison[],
  { lowest, margin }: Expectations,
): readonly string[] {
  const unsure = comparisons.find(({ difference }) => difference.interval === undefined);
  if (margin !== undefined && unsure)
    throw new ConfigError(
      `--fail-on-regression needs an interval, and set ${unsure.set} has too few tasks for one. Give it at least two.`,
      { code: 'ARGUMENT_INVALID' },
    );
  const falls = comparisons.flatMap(({ set, key, before, after, difference: { interval } }) =>
    margin === undefined || interval === undefined || interval.high >= -margin
      ? []
      : [
          `${set}: ${key} fell from ${before.toFixed(3)} to ${after.toFixed(3)}; the 95 % interval of the difference is ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}, and at most ${margin} is allowed (--fail-on-regression).`,
        ],
  );
  const low = [...lowest].flatMap(([key, least]) => {
    const found = sets.flatMap(({ set, checkpoints }) => {
      const { metrics = {} } = checkpoints.at(-1) ?? {};
      // A set without metrics has no rollout that succeeded, so every metric of it counts as 0.
      const value = metrics[key] ?? (Object.keys(metrics).length === 0 ? 0 : undefined);
      return value === undefined ? [] : [{ set, value }];
    });
    if (found.length === 0)
      throw new ConfigError(
        `--fail-below ${key}=${least}: no set reports ${key}. Reported are ${[...new Set(sets.flatMap(({ checkpoints }) => Object.keys(checkpoints.at(-1)?.metrics ?? {})))].join(', ')}.`,
        { code: 'ARGUMENT_INVALID' },
      );
    return found
      .filter(({ value }) => value < least)
      .map(
        ({ set, value }) => `${set}: ${key} is ${value.toFixed(3)}, below ${least} (--fail-below).`,
      );
  });
  return [...falls, ...low];
}
