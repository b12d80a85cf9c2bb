/** The deadline of an attempt, from the time that earlier attempts took. */
import { type Metrics, type Task, gatherMetrics } from '@trinity-rft/core';
import type { JsonState } from '@trinity-rft/core/store';
import type { AttemptTime, TaskOutcome } from './outcome.js';
import type { TimeLimit } from './run-attempt.js';

/** Settings of the section `explorer.dynamic_timeout` of a configuration, by its names. */
export interface DynamicTimeout {
  readonly enable: boolean;
  /** Multiple of the 0.9 quantile. */
  readonly ratio: number;
  /** Explore steps before it applies. */
  readonly warmupMinSteps: number;
}

export interface TimeLimits {
  /** Limit of an attempt that begins now. */
  limit(task: Task): TimeLimit;
  /** After each explore step, in order. */
  record(outcomes: readonly TaskOutcome[]): void;
  /** `rollout/attempts/time_limit`, in seconds, over the tasks of a step; none when it is off. */
  metrics(tasks: readonly Task[]): Metrics;
  /** Undefined when it is off. */
  state(): JsonState | undefined;
  restore(state: JsonState): void;
}

export interface TimeLimitOptions {
  readonly maxTimeoutMs: number;
  /** @default `maxTimeoutMs` is the limit */
  readonly dynamicTimeout?: DynamicTimeout;
}

const quantile = 0.9;
/** Attempts of a workflow from which on its quantile means something. */
const leastAttempts = 10;
/** Number of a workflow's last attempts that count: the policy and its answers change. */
const window = 256;

/**
 * `ratio` times the 0.9 quantile of the last attempts of the task's workflow, at most
 * `maxTimeoutMs`. Attempts that ran out of time count as slower than all others, so a limit that
 * more than a tenth of them reach is given up, and cannot shrink further and further. Failed attempts
 * and evaluations do not count, and evaluations have the whole `maxTimeoutMs`.
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

/** In JSON there is no Infinity. */
const late = -1;

const timeOf = ({ seconds, isLate }: AttemptTime): number =>
  isLate ? late : Math.round(seconds * 1000);

function quantileOf(times: readonly number[]): number {
  const sorted = times
    .map((time) => (time === late ? Infinity : time))
    .toSorted((a, b) => Number(a > b) - Number(a < b));
  return sorted[Math.ceil(quantile * sorted.length) - 1] ?? Infinity;
}
