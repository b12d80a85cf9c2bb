/** Time limits of attempts, computed from the durations of earlier attempts. */
import { type Metrics, type Task, gatherMetrics } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/store';
import type { AttemptTime, TaskOutcome } from './outcome.js';
import type { TimeLimit } from './run-attempt.js';

/** Settings named as in the configuration's section `explorer.dynamic_timeout`. */
export interface DynamicTimeout {
  readonly enable: boolean;
  /** Factor by which the 0.9 quantile of the durations of earlier attempts is multiplied. */
  readonly ratio: number;
  /** Number of explore steps before the limit applies. */
  readonly warmupMinSteps: number;
}

export interface TimeLimits {
  /** Returns the time limit of an attempt that begins now. */
  limit(task: Task): TimeLimit;
  /** Records the durations of attempts. Called after each explore step, in order. */
  record(outcomes: readonly TaskOutcome[]): void;
  /**
   * Returns the metric `rollout/attempts/time_limit`: the time limits in seconds, aggregated over
   * the tasks of a step. Returns no metrics if dynamic limits are off.
   */
  metrics(tasks: readonly Task[]): Metrics;
  /** Returns the state for resuming, or undefined if dynamic limits are off. */
  state(): JsonState | undefined;
  restore(state: JsonState): void;
}

export interface TimeLimitOptions {
  readonly maxTimeoutMs: number;
  /** Settings for dynamic limits. @default no dynamic limits */
  readonly dynamicTimeout?: DynamicTimeout;
}

const quantile = 0.9;
/** Minimum number of attempts of a workflow for a meaningful quantile. */
const leastAttempts = 10;
/**
 * Number of latest attempts of a workflow that count, because the policy and its responses change.
 */
const window = 256;

/**
 * Creates time limits. The limit of an attempt is `ratio` times the 0.9 quantile of the durations
 * of the latest attempts of the task's workflow, at most `maxTimeoutMs`. Attempts that timed out
 * count as slower than all others. If more than a tenth of the attempts timed out, the limit is
 * therefore `maxTimeoutMs`, so it cannot shrink indefinitely. Failed attempts and evaluations are
 * ignored. The limit for evaluations is always `maxTimeoutMs`.
 */
export function createTimeLimits({ maxTimeoutMs, dynamicTimeout }: TimeLimitOptions): TimeLimits {
  const whole: TimeLimit = { ms: maxTimeoutMs, key: 'max_timeout' };
  if (!dynamicTimeout?.enable) return fixedLimit(whole);
  const { ratio, warmupMinSteps } = dynamicTimeout;
  let steps = 0;
  const times = new Map<string, readonly number[]>();
  const limit = ({ isEval, workflow }: Task): TimeLimit => {
    const known = times.get(workflow) ?? [];
    if (isEval || steps < Math.max(1, warmupMinSteps) || known.length < leastAttempts) return whole;
    const ms = ratio * quantileOf(known);
    return ms < maxTimeoutMs ? { ms, key: 'dynamic_timeout' } : whole;
  };
  return {
    limit,
    record: (outcomes) => {
      steps += 1;
      for (const { task, attempts = [] } of outcomes) {
        if (task.isEval) continue;
        const all = [...(times.get(task.workflow) ?? []), ...attempts.map(timeOf)];
        times.set(task.workflow, all.slice(-window));
      }
    },
    metrics: (tasks) =>
      gatherMetrics(
        tasks.map((task) => ({ time_limit: limit(task).ms / 1000 })),
        'rollout/attempts',
      ),
    state: () => ({ steps, times: Object.fromEntries(times) }),
    restore: (state) => {
      steps = state['steps'] as number;
      for (const [workflow, known] of Object.entries(state['times'] as Times))
        times.set(workflow, known);
    },
  };
}

type Times = Readonly<Record<string, readonly number[]>>;

const fixedLimit = (whole: TimeLimit): TimeLimits => ({
  limit: () => whole,
  record: () => undefined,
  metrics: () => ({}),
  state: () => undefined,
  restore: () => undefined,
});

/** Number stored in place of Infinity, which JSON lacks. */
const late = -1;

const timeOf = ({ seconds, isLate }: AttemptTime): number =>
  isLate ? late : Math.round(seconds * 1000);

function quantileOf(times: readonly number[]): number {
  const sorted = times
    .map((time) => (time === late ? Infinity : time))
    .toSorted((a, b) => Number(a > b) - Number(a < b));
  return sorted[Math.ceil(quantile * sorted.length) - 1] ?? Infinity;
}
