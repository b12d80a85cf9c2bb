/**
 * Executes all rollouts of a task. Failed rollouts are retried, and the last failure is part of the
 * outcome.
 */
import { EnvironmentError, TrinityError, type Task } from '@trinity-rft/core';
import { createStoppableClock, untilAborted } from '@trinity-rft/core/support';
import {
  classifyFailure,
  isOwnFailure,
  isWorthRetrying,
  type FailureKind,
} from './classify-failure.js';
import {
  defaultEnvironmentFailures,
  environmentBackOffMs,
  type Admission,
  type Answer,
  type EnvironmentCircuit,
  type EnvironmentCircuits,
} from './environment-circuits.js';
import type { RunRange } from './finish-runs.js';
import type { AttemptTime, FailedRun, RunOutcome, TaskOutcome } from './outcome.js';
import {
  assertNotStopped,
  reportFailure,
  runAttempt,
  type Attempt,
  type AttemptOptions,
  type AttemptResult,
} from './run-attempt.js';
import { createBreakages, isOfGrade } from './breakages.js';
import { createTaskEnd, type TaskEnd } from './task-end.js';

export interface RunTaskOptions extends AttemptOptions {
  /** Limits the number of attempts in progress. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Signal that aborts when the explore step no longer waits for the task. Unfinished rollouts are
   * then cancelled, and finished rollouts keep their outcomes.
   * @default no signal
   */
  readonly cutOff?: AbortSignal;
  /**
   * Circuit breakers of the environments.
   * @default no circuit breakers
   */
  readonly circuits?: EnvironmentCircuits;
  /** Called when `count` more rollouts have ended. @default no callback */
  readonly onRunsEnded?: (count: number) => void;
}

/**
 * Executes all rollouts of `task`. Rejects only if the explorer itself is stopped. Failures of the
 * workflow are part of the outcome.
 */
export async function runTask(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
  const { definition, settings, cutOff } = options;
  const clock = options.circuits?.clock ?? createStoppableClock(options.runtime.clock);
  const start = clock.now();
  const stoppedBefore = clock.stoppedMs();
  const end = createTaskEnd({ ...settings, clock, cutOff });
  const leave = circuitOf(task, options)?.join(task);
  const ranges: readonly RunRange[] = definition.canRepeat
    ? [{ firstRun: 0, count: task.repeatTimes }]
    : Array.from({ length: task.repeatTimes }, (_, run) => ({ firstRun: run, count: 1 }));
  try {
    const results = await Promise.all(
      ranges.map(async (range) => {
        const result = await runWithRetries(task, range, { ...options, end });
        options.onRunsEnded?.(range.count);
        return result;
      }),
    );
    const all = together(results);
    const { runs, attempts } = all;
    return {
      task,
      ...all,
      timeouts: attempts.filter(({ isLate }) => isLate).length,
      isCutOff: runs.some((run) => run.status === 'failed' && run.kind === 'cancelled'),
      environmentWaitSeconds: (clock.stoppedMs() - stoppedBefore) / 1000,
      seconds: (clock.now() - start) / 1000,
    };
  } finally {
    leave?.();
    end.close();
  }
}

interface RunOptions extends RunTaskOptions {
  readonly end: TaskEnd;
}

interface RetryOptions extends RunOptions {
  /**
   * Returns true if the action that caused this error also broke the environment in the previous
   * attempt.
   */
  readonly isRepeated: (error: EnvironmentError) => boolean;
}

interface RunsOfRange {
  readonly runs: readonly RunOutcome[];
  readonly retries: number;
  readonly environmentFailures: number;
  readonly attempts: readonly AttemptTime[];
}

const together = (parts: readonly RunsOfRange[]): RunsOfRange => ({
  runs: parts.flatMap(({ runs }) => runs).toSorted((a, b) => a.run - b.run),
  retries: parts.reduce((sum, { retries }) => sum + retries, 0),
  environmentFailures: parts.reduce((sum, each) => sum + each.environmentFailures, 0),
  attempts: parts.flatMap(({ attempts }) => attempts),
});

/** Numbers of failed attempts. */
interface FailureCounts {
  /** Failures that the environment did not cause. */
  readonly own: number;
  readonly environment: number;
}

/** Number of consecutive failures at the same action before the action is blamed. */
const leastBreakages = 3;

/**
 * Repeats attempts until one succeeds or no more retries are allowed. If single rollouts of a group
 * failed, repeats only these, one by one.
 * @param before numbers of failures in earlier attempts at these rollouts
 */
async function runWithRetries(
  task: Task,
  range: RunRange,
  options: RunOptions,
  before: FailureCounts = { own: 0, environment: 0 },
): Promise<RunsOfRange> {
  const { settings, runtime, end } = options;
  const { maxRetryTimes } = settings.environmentFailures ?? defaultEnvironmentFailures;
  const circuit = circuitOf(task, options);
  const breakages = createBreakages();
  const attempts: AttemptTime[] = [];
  /** Number of failures that the environment did not cause. */
  let failures = before.own;
  let environmentFailures = before.environment;
  let retries = 0;
  const isPaused = (): boolean => circuit?.isPaused() ?? false;
  const isRepeated = (error: EnvironmentError): boolean => breakages.isRepeated(error);
  const isCrash = (): boolean => breakages.inRow() >= leastBreakages;
  const mayRetry = ({ error, kind }: Pick<FailedRun, 'error' | 'kind'>): boolean => {
    if (end.signal.aborted || !isWorthRetrying(error)) return false;
    if (kind !== 'environment_failed') return failures < settings.maxRetryTimes;
    // Waits for an environment that is down, but not if only this action breaks it.
    if (isPaused()) return true;
    return environmentFailures < maxRetryTimes && !(isCrash() && breakages.answeredOthers());
  };
  const ended = (runs: readonly RunOutcome[]): RunsOfRange => ({
    runs,
    retries,
    environmentFailures: environmentFailures - before.environment,
    attempts,
  });
  const tries = (): number => before.own + before.environment + retries + 1;
  for (;;) {
    const attempt = { task, range, attempt: failures };
    const result = await attemptUntilEnd(attempt, { ...options, isRepeated });
    if (result === 'put off') continue;
    attempts.push(...timesOf(result));
    if (result.status === 'ok') {
      const lost = result.failed ?? [];
      const again = lost.filter((run) => mayRetry(run));
      const dropped = lost.filter((run) => !again.includes(run));
      for (const run of lost) {
        const own = { ...attempt, range: { firstRun: run.run, count: 1 } };
        const consequence = again.includes(run) ? 'will be retried' : undefined;
        const report = { error: run.error, consequence, tries: tries() };
        reportFailure(own, { ...report, logger: runtime.logger });
      }
      retries += again.length;
      const counts = { own: failures, environment: environmentFailures };
      const alone = again.map(async ({ run, kind }) => {
        const ofEnvironment = kind === 'environment_failed';
        const known = ofEnvironment
          ? { ...counts, environment: counts.environment + 1 }
          : { ...counts, own: counts.own + 1 };
        if (ofEnvironment && !isPaused()) await backOff(task, known.environment, options);
        return runWithRetries(task, { firstRun: run, count: 1 }, options, known);
      });
      environmentFailures += lost.filter(({ kind }) => kind === 'environment_failed').length;
      return together([ended([...result.runs, ...dropped]), ...(await Promise.all(alone))]);
    }
    const { error, seconds } = result;
    if (error instanceof EnvironmentError) breakages.add(error, circuit?.answers() ?? 0);
    const ofEnvironment = result.kind === 'environment_failed';
    const retry = mayRetry(result);
    const kind = !retry && ofEnvironment && isCrash() ? 'environment_crashed' : result.kind;
    const consequence = retry ? 'will be retried' : consequenceOf(kind, error, breakages.inRow());
    if (kind !== 'cancelled')
      reportFailure(attempt, {
        error,
        consequence,
        tries: tries(),
        logger: runtime.logger,
      });
    if (ofEnvironment) environmentFailures++;
    else failures++;
    if (!retry)
      return ended(
        Array.from({ length: range.count }, (_, i) => {
          return { status: 'failed', run: range.firstRun + i, kind, error, seconds };
        }),
      );
    retries++;
    if (ofEnvironment && !isPaused()) await backOff(task, environmentFailures, options);
  }
}

function consequenceOf(kind: FailureKind, error: Error, inRow: number): string | undefined {
  if (kind !== 'environment_crashed') return undefined;
  const isGrade = error instanceof EnvironmentError && isOfGrade(error);
  const what = isGrade
    ? 'its environment could not grade it'
    : 'the same action broke its environment';
  return `is dropped: ${what} in ${inRow} attempts in a row`;
}

async function backOff(task: Task, failures: number, options: RunOptions): Promise<void> {
  const ms = environmentBackOffMs(failures);
  if (ms === 0) return;
  const { runtime, end, signal, circuits } = options;
  const goOn = circuits?.backOff(environmentOf(task, options), ms);
  // The next attempt reports the abort reason.
  await runtime.clock.sleep(ms, AbortSignal.any([signal, end.signal])).catch(() => undefined);
  goOn?.();
}

const environmentOf = (
  { workflow, workflowArgs }: Task,
  { definition }: Pick<RunTaskOptions, 'definition'>,
): string => definition.environment?.(workflowArgs) ?? workflow;

const circuitOf = (
  task: Task,
  options: Pick<RunTaskOptions, 'definition' | 'circuits'>,
): EnvironmentCircuit | undefined => options.circuits?.of(environmentOf(task, options));

/**
 * Executes an attempt. Returns a failure if the task ends first, and `put off` if the attempt was
 * not executed.
 */
async function attemptUntilEnd(
  attempt: Attempt,
  options: RetryOptions,
): Promise<AttemptResult | 'put off'> {
  const { end, limit, runtime, signal } = options;
  let begun: number | undefined;
  const { task } = attempt;
  const either = AbortSignal.any([signal, end.signal]);
  try {
    const admission = await circuitOf(task, options)?.enter(task, either);
    const work = limit(() =>
      admitted(admission, options, () => {
        end.signal.throwIfAborted();
        begun = runtime.clock.now();
        end.begin();
        return runAttempt(attempt, { ...options, taskEnd: end.signal });
      }),
    );
    return await untilAborted(work, end.signal);
  } catch (error) {
    assertNotStopped(signal);
    if (!end.signal.aborted || signal.aborted) throw error;
    const spent = { elapsedMs: 0, longestPauseMs: 0 };
    const failure = classifyFailure(error, attempt.task.workflow, spent);
    const seconds = begun === undefined ? 0 : (runtime.clock.now() - begun) / 1000;
    return { status: 'failed', ...failure, seconds };
  }
}

/**
 * Executes the attempt. Returns `put off` instead if the environment has been paused or resumed
 * since the admission.
 */
async function admitted(
  admission: Admission | undefined,
  { isRepeated }: RetryOptions,
  work: () => Promise<AttemptResult>,
): Promise<AttemptResult | 'put off'> {
  let answer: Answer = 'unknown';
  try {
    if (admission?.isCurrent() === false) return 'put off';
    const result = await work();
    answer = answerOf(result, isRepeated);
    return result;
  } finally {
    admission?.end(answer);
  }
}

function answerOf(result: AttemptResult, isRepeated: RetryOptions['isRepeated']): Answer {
  if (result.status === 'ok') return 'answered';
  const { error, calls = 0 } = result;
  if (error instanceof EnvironmentError) return { error, isRepeated: isRepeated(error) };
  return calls > 0 && isOwnFailure(result) ? 'failed' : 'unknown';
}

/**
 * Returns the duration of an attempt that succeeded or reached its deadline. Returns an empty array
 * for other failures.
 */
function timesOf(result: AttemptResult): readonly AttemptTime[] {
  const { seconds = 0, failure } =
    result.status === 'ok'
      ? (result.runs[0] ?? {})
      : { seconds: result.seconds, failure: result.error };
  const isLate =
    TrinityError.is(failure) && /^(?:ATTEMPT|SERVICE|REWARD)_TIMEOUT$/.test(failure.code ?? '');
  return isLate || failure === undefined ? [{ seconds, isLate }] : [];
}
