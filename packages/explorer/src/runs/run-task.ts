/** All runs of a task: failed ones are retried, and the last failure is part of the outcome. */
import { EnvironmentError, TrinityError, type Task } from '@trinity-rft/core';
import { createStoppableClock } from '@trinity-rft/core/support';
import { classifyFailure, isWorthRetrying, type FailureKind } from './classify-failure.js';
import {
  defaultEnvironmentFailures,
  environmentBackOffMs,
  type Admission,
  type Answer,
  type EnvironmentCircuit,
  type EnvironmentCircuits,
} from './environment-circuits.js';
import type { RunRange } from './finish-runs.js';
import type { AttemptTime, RunOutcome, TaskOutcome } from './outcome.js';
import {
  assertNotStopped,
  reportFailure,
  runAttempt,
  type Attempt,
  type AttemptOptions,
  type AttemptResult,
  type FailedAttempt,
} from './run-attempt.js';
import { createBreakages } from './breakages.js';
import { createTaskEnd, untilAborted, type TaskEnd } from './task-end.js';

export interface RunTaskOptions extends AttemptOptions {
  /** Bounds how many attempts are in flight. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Aborts when the runs of the task that have not ended are no longer waited for: they are
   * cancelled, those that have ended keep their outcomes. @default never
   */
  readonly cutOff?: AbortSignal;
  /** @default each run finds out by itself that its environment fails */
  readonly circuits?: EnvironmentCircuits;
  /** Called when `count` more runs have ended. @default no callback */
  readonly onRunsEnded?: (count: number) => void;
}

/**
 * Makes all runs of `task`. Rejects only when the explorer itself is stopped; whatever a workflow
 * does is in the outcome.
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
    const runs = results.flatMap((result) => result.runs);
    const attempts = results.flatMap((result) => result.attempts);
    return {
      task,
      runs,
      retries: results.reduce((sum, result) => sum + result.retries, 0),
      environmentFailures: results.reduce((sum, each) => sum + each.environmentFailures, 0),
      timeouts: attempts.filter(({ isLate }) => isLate).length,
      attempts,
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
  /** The attempt before has failed in the same way. */
  readonly isRepeated: (error: EnvironmentError) => boolean;
}

interface RunsOfRange {
  readonly runs: readonly RunOutcome[];
  readonly retries: number;
  readonly environmentFailures: number;
  readonly attempts: readonly AttemptTime[];
}

async function runWithRetries(
  task: Task,
  range: RunRange,
  options: RunOptions,
): Promise<RunsOfRange> {
  const retries = new Retries(task, range, options);
  for (;;) {
    const result = await attemptUntilEnd(retries.next(), {
      ...options,
      isRepeated: (error) => retries.isRepeated(error),
    });
    if (result === 'put off') continue;
    const runs = await retries.after(result);
    if (runs) return runs;
  }
}

/** So many attempts must end at one action before it is to blame. */
const leastBreakages = 3;

/** How often a run was tried, and whether it is tried again. */
class Retries {
  readonly task: Task;
  readonly range: RunRange;
  readonly options: RunOptions;
  readonly #times: AttemptTime[] = [];
  /** Failures of its own, or of a service. */
  #failures = 0;
  #environmentFailures = 0;
  #breakages = createBreakages();

  constructor(task: Task, range: RunRange, options: RunOptions) {
    this.task = task;
    this.range = range;
    this.options = options;
  }

  next(): Attempt {
    return { task: this.task, range: this.range, attempt: this.#failures };
  }

  /** See `RetryOptions`. */
  isRepeated(error: EnvironmentError): boolean {
    return this.#breakages.isRepeated(error);
  }

  /** The runs if it is not tried again. */
  async after(result: AttemptResult): Promise<RunsOfRange | undefined> {
    this.#times.push(...timesOf(result));
    if (result.status === 'ok') return this.#end(result.runs);
    const { error, seconds } = result;
    if (error instanceof EnvironmentError)
      this.#breakages.add(error, circuitOf(this.task, this.options)?.answers() ?? 0);
    const tries = this.#failures + this.#environmentFailures + 1;
    const retry = this.#mayRetry(result);
    const kind = retry ? result.kind : this.#endOf(result.kind);
    const { logger } = this.options.runtime;
    const consequence = retry ? 'will be retried' : this.#consequenceOf(kind);
    if (kind !== 'cancelled') reportFailure(this.next(), { error, consequence, tries, logger });
    if (result.kind === 'environment_failed') this.#environmentFailures++;
    else if (retry) this.#failures++;
    if (retry) return this.#backOff(kind);
    const { firstRun, count } = this.range;
    const runs = Array.from({ length: count }, (_, i): RunOutcome => {
      return { status: 'failed', run: firstRun + i, kind, error, seconds };
    });
    return this.#end(runs);
  }

  /** `environment_crashed`: not an environment that is down, but an action that it does not bear. */
  #endOf(kind: FailureKind): FailureKind {
    return kind === 'environment_failed' && this.#isSame() ? 'environment_crashed' : kind;
  }

  #isSame(): boolean {
    return this.#breakages.inRow() >= leastBreakages;
  }

  #consequenceOf(kind: FailureKind): string | undefined {
    if (kind !== 'environment_crashed') return undefined;
    return `is dropped: the same action broke its environment in ${this.#breakages.inRow()} attempts in a row`;
  }

  #mayRetry({ error, kind }: FailedAttempt): boolean {
    const { settings, end } = this.options;
    const { maxRetryTimes } = settings.environmentFailures ?? defaultEnvironmentFailures;
    const mayRetry =
      kind === 'environment_failed'
        ? this.#isPaused() || (this.#environmentFailures < maxRetryTimes && !this.#isToBlame())
        : this.#failures < settings.maxRetryTimes;
    return mayRetry && !end.signal.aborted && isWorthRetrying(error);
  }

  /** Its action breaks an environment that answers others. */
  #isToBlame(): boolean {
    return this.#isSame() && this.#breakages.answeredOthers();
  }

  /** It fails for others too, so this run has to wait like them. */
  #isPaused(): boolean {
    return circuitOf(this.task, this.options)?.isPaused() ?? false;
  }

  async #backOff(kind: FailureKind): Promise<undefined> {
    if (kind !== 'environment_failed' || this.#isPaused()) return;
    const ms = environmentBackOffMs(this.#environmentFailures);
    if (ms === 0) return;
    const { runtime, end, signal, circuits } = this.options;
    const goOn = circuits?.backOff(environmentOf(this.task, this.options), ms);
    // The next attempt reports the abort reason.
    await runtime.clock.sleep(ms, AbortSignal.any([signal, end.signal])).catch(() => undefined);
    goOn?.();
  }

  #end(runs: readonly RunOutcome[]): RunsOfRange {
    const environmentFailures = this.#environmentFailures;
    const retries = this.#failures + environmentFailures;
    return { runs, retries, environmentFailures, attempts: this.#times };
  }
}

const environmentOf = (
  { workflow, workflowArgs }: Task,
  { definition }: Pick<RunTaskOptions, 'definition'>,
): string => definition.environment?.(workflowArgs) ?? workflow;

const circuitOf = (
  task: Task,
  options: Pick<RunTaskOptions, 'definition' | 'circuits'>,
): EnvironmentCircuit | undefined => options.circuits?.of(environmentOf(task, options));

/** The end of the task also ends an attempt that has not begun. */
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

/** Its turn may come after others have found that the environment fails. */
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
  const { error } = result;
  return error instanceof EnvironmentError ? { error, isRepeated: isRepeated(error) } : 'unknown';
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
