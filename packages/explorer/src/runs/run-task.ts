/** All runs of a task: failed ones are retried, and the last failure is part of the outcome. */
import { TrinityError, type Task } from '@trinity-rft/core';
import { classifyFailure, isWorthRetrying } from './classify-failure.js';
import type { RunRange } from './finish-runs.js';
import type { AttemptTime, RunOutcome, TaskOutcome } from './outcome.js';
import {
  reportFailure,
  runAttempt,
  type Attempt,
  type AttemptOptions,
  type AttemptResult,
} from './run-attempt.js';
import { createTaskEnd, untilAborted, type TaskEnd } from './task-end.js';

export interface RunTaskOptions extends AttemptOptions {
  /** Bounds how many attempts are in flight. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Aborts when the runs of the task that have not ended are no longer waited for: they are
   * cancelled, those that have ended keep their outcomes. @default never
   */
  readonly cutOff?: AbortSignal;
}

/**
 * Makes all runs of `task`. Rejects only when the explorer itself is stopped; whatever a workflow
 * does is in the outcome.
 */
export async function runTask(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
  const { definition, runtime, settings, cutOff } = options;
  const start = runtime.clock.now();
  const end = createTaskEnd({ ...settings, runtime, cutOff });
  const ranges: readonly RunRange[] = definition.canRepeat
    ? [{ firstRun: 0, count: task.repeatTimes }]
    : Array.from({ length: task.repeatTimes }, (_, run) => ({ firstRun: run, count: 1 }));
  try {
    const results = await Promise.all(
      ranges.map((range) => runWithRetries(task, range, { ...options, end })),
    );
    const runs = results.flatMap((result) => result.runs);
    const attempts = results.flatMap((result) => result.attempts);
    return {
      task,
      runs,
      retries: results.reduce((sum, result) => sum + result.retries, 0),
      timeouts: attempts.filter(({ isLate }) => isLate).length,
      attempts,
      isCutOff: runs.some((run) => run.status === 'failed' && run.kind === 'cancelled'),
      seconds: (runtime.clock.now() - start) / 1000,
    };
  } finally {
    end.close();
  }
}

interface RunOptions extends RunTaskOptions {
  readonly end: TaskEnd;
}

interface RunsOfRange {
  readonly runs: readonly RunOutcome[];
  readonly retries: number;
  readonly attempts: readonly AttemptTime[];
}

async function runWithRetries(
  task: Task,
  range: RunRange,
  options: RunOptions,
): Promise<RunsOfRange> {
  const { maxRetryTimes } = options.settings;
  const { logger } = options.runtime;
  const attempts: AttemptTime[] = [];
  for (let number = 0; ; number++) {
    const attempt: Attempt = { task, range, attempt: number };
    const result = await attemptUntilEnd(attempt, options);
    attempts.push(...timesOf(result));
    if (result.status === 'ok') return { runs: result.runs, retries: number, attempts };
    const { error, kind, seconds } = result;
    const mayRetry = number < maxRetryTimes && !options.end.signal.aborted;
    const retry = mayRetry && isWorthRetrying(error);
    if (kind !== 'cancelled')
      reportFailure(attempt, { error, consequence: retry ? 'will be retried' : undefined, logger });
    if (retry) continue;
    const runs = Array.from({ length: range.count }, (_, i): RunOutcome => {
      return { status: 'failed', run: range.firstRun + i, kind, error, seconds };
    });
    return { runs, retries: number, attempts };
  }
}

/** The end of the task also ends an attempt that has not begun. */
async function attemptUntilEnd(attempt: Attempt, options: RunOptions): Promise<AttemptResult> {
  const { end, limit, runtime, signal } = options;
  let begun: number | undefined;
  const result = limit(() => {
    end.signal.throwIfAborted();
    begun = runtime.clock.now();
    end.begin();
    return runAttempt(attempt, { ...options, taskEnd: end.signal });
  });
  try {
    return await untilAborted(result, end.signal);
  } catch (error) {
    if (!end.signal.aborted || signal.aborted) throw error;
    const spent = { elapsedMs: 0, longestPauseMs: 0 };
    const failure = classifyFailure(error, attempt.task.workflow, spent);
    const seconds = begun === undefined ? 0 : (runtime.clock.now() - begun) / 1000;
    return { status: 'failed', ...failure, seconds };
  }
}

function timesOf(result: AttemptResult): readonly AttemptTime[] {
  const first = result.status === 'ok' ? result.runs[0] : result;
  if (isLate(result)) return [{ seconds: first?.seconds ?? 0, isLate: true }];
  const isOwn = result.status === 'ok' && result.runs[0]?.failure === undefined;
  return isOwn ? [{ seconds: first?.seconds ?? 0, isLate: false }] : [];
}

/** It reached its deadline, whatever followed from that. */
function isLate(result: AttemptResult): boolean {
  const error = result.status === 'ok' ? result.runs[0]?.failure : result.error;
  return TrinityError.is(error) && /^(?:ATTEMPT|SERVICE)_TIMEOUT$/.test(error.code ?? '');
}
