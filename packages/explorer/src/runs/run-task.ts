/** All runs of a task: failed ones are retried, and the last failure is part of the outcome. */
import { TrinityError, type Task } from '@trinity-rft/core';
import { isWorthRetrying } from './classify-failure.js';
import type { RunRange } from './finish-runs.js';
import type { RunOutcome, TaskOutcome } from './outcome.js';
import {
  reportFailure,
  runAttempt,
  type Attempt,
  type AttemptOptions,
  type AttemptResult,
} from './run-attempt.js';

export interface RunTaskOptions extends AttemptOptions {
  /** Bounds how many attempts are in flight. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Makes all runs of `task`. Rejects only when the explorer itself is stopped; whatever a workflow
 * does is in the outcome.
 */
export async function runTask(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
  const { definition, runtime } = options;
  const start = runtime.clock.now();
  const ranges: readonly RunRange[] = definition.canRepeat
    ? [{ firstRun: 0, count: task.repeatTimes }]
    : Array.from({ length: task.repeatTimes }, (_, run) => ({ firstRun: run, count: 1 }));
  const results = await Promise.all(ranges.map((range) => runWithRetries(task, range, options)));
  return {
    task,
    runs: results.flatMap((result) => result.runs),
    retries: results.reduce((sum, result) => sum + result.retries, 0),
    timeouts: results.reduce((sum, result) => sum + result.timeouts, 0),
    seconds: (runtime.clock.now() - start) / 1000,
  };
}

async function runWithRetries(
  task: Task,
  range: RunRange,
  options: RunTaskOptions,
): Promise<Pick<TaskOutcome, 'runs' | 'retries' | 'timeouts'>> {
  const { maxRetryTimes } = options.settings;
  const { logger } = options.runtime;
  let timeouts = 0;
  for (let number = 0; ; number++) {
    const attempt: Attempt = { task, range, attempt: number };
    const result = await options.limit(() => runAttempt(attempt, options));
    if (isLate(result)) timeouts++;
    if (result.status === 'ok') return { runs: result.runs, retries: number, timeouts };
    const { error, kind, seconds } = result;
    const retry = number < maxRetryTimes && isWorthRetrying(error);
    reportFailure(attempt, { error, consequence: retry ? 'will be retried' : undefined, logger });
    if (retry) continue;
    const runs = Array.from({ length: range.count }, (_, i): RunOutcome => {
      return { status: 'failed', run: range.firstRun + i, kind, error, seconds };
    });
    return { runs, retries: number, timeouts };
  }
}

/** It reached its deadline, whatever followed from that. */
function isLate(result: AttemptResult): boolean {
  const error = result.status === 'ok' ? result.runs[0]?.failure : result.error;
  return TrinityError.is(error) && /^(?:ATTEMPT|SERVICE)_TIMEOUT$/.test(error.code ?? '');
}
