/**
 * One attempt at a rollout. It executes the workflow on a fresh model within a deadline, and
 * returns the result, or a failure as data.
 */
import {
  describeError,
  ModelError,
  WorkflowError,
  type Experience,
  type Logger,
  type Metrics,
  type RewardFn,
  type Runtime,
  type Task,
  type TrinityError,
  CancelledError,
} from '@trinity-rft/core';
import {
  causesOf,
  copyOf,
  countPerLogger,
  readableThrown,
  untilAborted,
} from '@trinity-rft/core/support';
import { inWorkflowSpan, noteFailure } from '@trinity-rft/monitor/internal';
import type {
  AgentModel,
  WorkflowContext,
  WorkflowDefinition,
  WorkflowInstance,
  WorkflowResult,
} from '@trinity-rft/workflow';
import { PartialGroupError, rewardFnName } from '@trinity-rft/workflow/internal';
import {
  classifyFailure,
  isOwnFailure,
  namesExternalModel,
  type Failure,
} from './classify-failure.js';
import type { EnvironmentFailures } from './environment-circuits.js';
import { inRun, watchCalls } from './current-run.js';
import { finishRuns, type RunRange } from './finish-runs.js';
import { listenForReasons, type Reasons } from './reasons.js';
import type { FailedRun, SuccessfulRun } from './outcome.js';

/** Limits of rollouts, named as in the configuration's section `explorer`. */
export interface RunSettings {
  /** Maximum number of milliseconds for each attempt. */
  readonly maxTimeoutMs: number;
  /**
   * Maximum number of milliseconds for all rollouts of a task together, from the first attempt on.
   * @default no limit
   */
  readonly maxTaskTimeoutMs?: number;
  /** Maximum number of retries of a failed rollout. */
  readonly maxRetryTimes: number;
  /**
   * Reward for a training rollout whose agent failed after it had called the model: the agent
   * threw, exceeded the prompt length, or spent its time on its own calls. Such a rollout is not
   * retried. The reward also goes to calls that the workflow has extracted from the history, even
   * if it meant to leave them out. Failures for which the agent is not responsible, such as engine
   * faults, tools and services that do not respond, and failing reward functions, get no reward.
   * Neither do groups of rollouts that a workflow with `canRepeat` executes together.
   * @default undefined: failed rollouts yield no experiences
   */
  readonly failureReward?: number;
  /**
   * Handling of failing environments.
   * @default 8 retries, a pause after 8 consecutive failures, at most 30 minutes of waiting
   */
  readonly environmentFailures?: EnvironmentFailures;
}

/**
 * A model for one attempt. It rejects calls once the attempt's signal has aborted, so that no call
 * is recorded after the deadline.
 */
export interface AttemptModel {
  readonly model: AgentModel;
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** Model behind an API that answers in place of `model`. @default undefined */
  readonly external?: AgentModel;
  /** Info that is added to every experience of the attempt. @default empty */
  readonly info?: Readonly<Record<string, unknown>>;
  /**
   * Returns the experiences that the workflow has extracted from the history and cleared there. If
   * the agent fails later, they get the failure reward too.
   * @default undefined: only calls in the history get the failure reward
   */
  extracted?(): readonly Experience[];
  /** Metrics of the recorded calls (`forks/…`, `tool_calls`, …). */
  metrics(): Metrics;
  /**
   * Returns the name of the service that a call currently waits for, for error messages. @default
   * undefined: services are not named in errors
   */
  waitsFor?(): string | undefined;
  /** Returns the longest wait for something other than the model, see `PauseMeter`. */
  longestPauseMs(): number;
}

export interface AttemptKey {
  readonly task: Task;
  /** Index of the attempt's first rollout within the task, from 0. */
  readonly run: number;
  /** Number of rollouts that the attempt executes. @default 1 */
  readonly count?: number;
  /**
   * Index of the attempt, from 0. A retry after a failure of the environment has the same index as
   * the failed attempt, so that the failure does not change the rollout.
   */
  readonly attempt: number;
  /** Signal that aborts when the attempt is over, for any reason. */
  readonly signal: AbortSignal;
}

export interface AttemptOptions {
  readonly definition: WorkflowDefinition;
  readonly rewardFn?: RewardFn;
  readonly createModel: (key: AttemptKey) => AttemptModel;
  readonly settings: RunSettings;
  /** Workflow instances to reuse if the workflow can be reset. */
  readonly pool: InstancePool;
  /** Returns the time limit of an attempt that begins now. @default `maxTimeoutMs` */
  readonly timeLimit?: (task: Task) => TimeLimit;
  /** Called if a workflow returns after its attempt has ended. @default no callback */
  readonly onLateResult?: () => void;
  /**
   * Returns the deadline of a pending reward, see `FinishOptions`.
   * @default undefined: a pending reward is an error
   */
  readonly rewardDeadline?: (delayMs: number | undefined) => number;
  /** Signal that aborts when the task is cut off or its deadline passes. @default no signal */
  readonly taskEnd?: AbortSignal;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

export interface TimeLimit {
  readonly ms: number;
  /** Configuration key that sets the limit. */
  readonly key: 'max_timeout' | 'dynamic_timeout';
}

export interface Attempt {
  readonly task: Task;
  readonly range: RunRange;
  /** Index of the attempt, from 0. */
  readonly attempt: number;
}

export type AttemptResult =
  | {
      readonly status: 'ok';
      readonly runs: readonly SuccessfulRun[];
      /** Rollouts of a group that failed individually. @default none */
      readonly failed?: readonly FailedRun[];
    }
  | FailedAttempt;

interface FailedAttempt extends Failure {
  readonly status: 'failed';
  readonly seconds: number;
  /** Number of calls that the model has answered. @default unknown */
  readonly calls?: number | undefined;
}

/** Executes one attempt. Rejects only if the explorer itself is stopped. */
export function runAttempt(attempt: Attempt, options: AttemptOptions): Promise<AttemptResult> {
  const { task } = attempt;
  const { taskset, row } = task.index;
  const span = {
    workflow: task.workflow,
    run: runId(attempt),
    taskset,
    row,
    isEval: task.isEval,
    attempt: attempt.attempt,
  };
  const rewardsOf = (result: AttemptResult) =>
    result.status === 'ok' ? result.runs.map(({ reward }) => reward) : [];
  return inWorkflowSpan(span, rewardsOf, () => makeAttempt(attempt, options));
}

/**
 * Error with which all attempts abort their signals. It is created once, because its stack trace is
 * of no use, and capturing one per attempt would be the most expensive part of an abort.
 */
const attemptOver = new CancelledError('The attempt is over.', { reason: 'aborted' });

async function makeAttempt(attempt: Attempt, options: AttemptOptions): Promise<AttemptResult> {
  const { task, range } = attempt;
  const { definition, pool, runtime } = options;
  const over = new AbortController();
  const { taskEnd = over.signal } = options;
  const signal = AbortSignal.any([options.signal, over.signal, taskEnd]);
  const { firstRun: run, count } = range;
  const key: AttemptKey = { task, run, count, attempt: attempt.attempt, signal };
  const model = options.createModel(key);
  const called: StartedAttempt['called'] = new Map();
  const endWatch = watchCalls();
  // Copies the task, so that an attempt cannot change the row and arguments of the next attempt.
  const own = { ...attempt, task: copyOf(task), called };
  const reasons = listenForReasons(options.rewardFn, runtime.clock);
  const started: StartedAttempt = { ...own, model, signal, reasons, start: runtime.clock.now() };
  try {
    const work = inRun(runName(attempt), called, () => runWorkflow(started, options));
    const { instance, result, failed } = await beforeDeadline(work, started, over, options);
    const runs = finish({ ...started, failed }, result, options);
    if (definition.canReset) pool.put(definition, instance);
    const lost = [...failed].filter(([one]) => runs.every((finished) => finished.run !== one));
    return { status: 'ok', runs, failed: lost.map((each) => lostRun(each, started, options)) };
  } catch (error) {
    assertNotStopped(options.signal);
    const failure = failureOf(error, started, options);
    noteFailure(failure.error);
    return applyFailureReward(started, failure, options);
  } finally {
    endWatch();
    over.abort(attemptOver);
  }
}

/** Classifies what a workflow has thrown. */
function failureOf(
  thrown: unknown,
  started: StartedAttempt,
  { runtime }: AttemptOptions,
): Omit<FailedAttempt, 'status'> {
  const elapsedMs = runtime.clock.now() - started.start;
  const { model } = started;
  const calls = model.metrics()['model/calls'];
  const spent = { elapsedMs, longestPauseMs: model.longestPauseMs(), calls };
  const { kind, error } = classifyFailure(readableThrown(thrown), started.task.workflow, spent);
  return { kind, error: explainBypass(error, started), seconds: elapsedMs / 1000, calls };
}

/**
 * Returns the failure of a rollout that failed individually in its group, and notes it in the
 * trace.
 */
function lostRun(
  [run, thrown]: readonly [run: number, thrown: unknown],
  started: StartedAttempt,
  options: AttemptOptions,
): FailedRun {
  const failure = failureOf(thrown, started, options);
  noteFailure(failure.error);
  return { status: 'failed', run, ...failure };
}

interface StartedAttempt extends Attempt {
  readonly model: AttemptModel;
  /**
   * Errors of the rollouts of a group that failed individually, by rollout number.
   * @default no failed rollouts
   */
  readonly failed?: ReadonlyMap<number, unknown>;
  readonly reasons: Reasons;
  /**
   * Models that the agent has called with Node's fetch. Maps URLs to the names of the models;
   * undefined if the name is unknown.
   */
  readonly called: Map<string, string | undefined>;
  /** Signal that aborts when the attempt is over. */
  readonly signal: AbortSignal;
  /** Time at which the attempt started, in milliseconds on the clock. */
  readonly start: number;
}

async function runWorkflow(
  { task, range, model: { model, auxiliaryModels }, reasons: { rewardFn }, signal }: StartedAttempt,
  { definition, pool, runtime, ...limits }: AttemptOptions,
): Promise<{ instance: WorkflowInstance } & GroupResult> {
  const own = { task, model, auxiliaryModels, runId: runId({ task, range }) };
  const timeLimitMs = limitOf(task, limits).ms;
  const context: WorkflowContext = { ...own, runtime, timeLimitMs, signal, rewardFn };
  const used = definition.canReset ? pool.take(definition) : undefined;
  const instance = used ?? definition.create(context);
  if (used) await used.reset?.(context);
  if (definition.canRepeat) instance.setRepeatTimes?.(range.count, range.firstRun);
  return { instance, ...(await resultOf(instance)) };
}

interface GroupResult {
  readonly result: WorkflowResult;
  readonly failed: ReadonlyMap<number, unknown>;
}

async function resultOf(instance: WorkflowInstance): Promise<GroupResult> {
  try {
    return { result: await instance.run(), failed: new Map() };
  } catch (error) {
    const thrown = readableThrown(error);
    if (!(thrown instanceof PartialGroupError)) throw error;
    return { result: thrown.result, failed: thrown.failed };
  }
}

/**
 * Converts the result of a workflow to finished rollouts with their durations and metrics.
 * @param failure error of an agent whose calls get the failure reward
 * @throws WorkflowError if the result does not give complete experiences
 */
function finish(
  started: StartedAttempt,
  result: WorkflowResult,
  { runtime: { clock }, rewardDeadline }: Pick<AttemptOptions, 'runtime' | 'rewardDeadline'>,
  failure?: Error,
): readonly SuccessfulRun[] {
  const { task, range, failed, model, reasons, start } = started;
  const { info } = model;
  const extracted = failure && model.extracted?.();
  const bypassed = (): WorkflowError | undefined => bypassOf(started, 'returned');
  const from = { task, range, failed, model: model.model, extracted, info, reasons };
  const runs = finishRuns(result, { ...from, rewardDeadline, bypassed });
  const callMetrics = model.metrics();
  const seconds = (clock.now() - start) / 1000;
  return runs.map((run) => ({
    ...run,
    status: 'ok',
    seconds,
    failure,
    metrics: { ...callMetrics, ...run.metrics },
  }));
}

/**
 * Returns the models that the agent has called, other than the rollout's model and the auxiliary
 * ones.
 */
function othersCalled({ model, called }: StartedAttempt): readonly string[] {
  if (called.size === 0) return [];
  const { external, auxiliaryModels } = model;
  const models = [model.model, ...auxiliaryModels.values(), ...(external ? [external] : [])];
  const own = models.map((one) => one.endpoint().baseURL);
  return [...called]
    .filter(([address]) => !own.some((base) => address.startsWith(base)))
    .map(([address, name]) => (name === undefined ? address : `"${name}" at ${address}`));
}

/**
 * Returns the error for an agent that has not called the model of its rollout. Returns undefined if
 * the agent has called that model.
 */
function bypassOf(
  started: StartedAttempt,
  ended: string,
  cause?: Error,
): WorkflowError | undefined {
  if (started.model.metrics()['model/calls'] !== 0) return undefined;
  const others = othersCalled(started);
  const instead = others.length === 0 ? '' : `: the agent called ${others.join(', ')}`;
  return new WorkflowError(
    `Workflow "${started.task.workflow}" ${ended}, but no call came through the model of its run${instead}. ` +
      'Give the agent that model in place of one of its own: model.openaiClient(), model.endpoint(), what the adapter passes ' +
      '(languageModel, chatModel, runner, options, settings), or OPENAI_BASE_URL in a program.',
    { code: 'MODEL_BYPASSED', cause },
  );
}

/**
 * Replaces the error of an agent that called another model instead of the rollout's model, because
 * the problem to fix is this call, and not, for example, a missing API key for the other model.
 * Returns other errors unchanged.
 */
function explainBypass(error: TrinityError, started: StartedAttempt): TrinityError {
  const isForeign =
    error instanceof ModelError || /^(?:WORKFLOW_THREW|SERVICE_FAILED)$/.test(error.code);
  if (!isForeign) return error;
  const text = describeError(error);
  const lacksKey =
    error.code === 'WORKFLOW_THREW' && /\bapi[ _-]?key\b/i.test(text) && !namesExternalModel(text);
  if (!lacksKey && othersCalled(started).length === 0) return error;
  const cause = error instanceof ModelError ? error : (error.cause as Error);
  return bypassOf(started, 'threw', cause) ?? error;
}

/** Returns successful rollouts if the failure reward applies, otherwise the failed attempt. */
function applyFailureReward(
  attempt: StartedAttempt,
  failure: Omit<FailedAttempt, 'status'>,
  { definition, settings, runtime }: AttemptOptions,
): AttemptResult {
  const failed = { status: 'failed', ...failure } as const;
  const { failureReward: reward } = settings;
  // Evaluations, rollouts of groups, and failures that are not the agent's get no failure reward.
  const { isEval, repeatTimes } = attempt.task;
  const isOfGroup = definition.canRepeat && repeatTimes > 1;
  if (reward === undefined || isEval || isOfGroup || !isOwnFailure(failure)) return failed;
  const { error } = failure;
  try {
    const runs = finish(attempt, { reward }, { runtime }, error);
    const consequence = `gets the failure reward ${reward}`;
    const tries = attempt.attempt + 1;
    reportFailure(attempt, { error, consequence, tries, logger: runtime.logger });
    return { status: 'ok', runs };
  } catch {
    // The attempt failed before the model was called, so there is no call to reward.
    return failed;
  }
}

/**
 * Waits for `work`. Rejects at the deadline, and aborts `over`. Also rejects when the task ends,
 * even if the workflow ignores its signal. A result that the workflow returns afterwards is
 * discarded and counted as late.
 */
async function beforeDeadline<T>(
  work: Promise<T>,
  started: StartedAttempt,
  over: AbortController,
  options: AttemptOptions,
): Promise<T> {
  const { runtime, signal } = options;
  const limit = limitOf(started.task, options);
  const deadline = runtime.clock
    .sleep(limit.ms, AbortSignal.any([signal, over.signal]))
    .then(() => {
      const error = lateError(limit, started, runtime.clock.now());
      over.abort(error);
      throw error;
    });
  // The promise that loses the race may still reject, although nothing awaits it.
  work.then(() => over.signal.aborted && options.onLateResult?.()).catch(() => undefined);
  deadline.catch(() => undefined);
  return untilAborted(Promise.race([work, deadline]), options.taskEnd ?? over.signal);
}

/**
 * Returns the error of an attempt that has reached its deadline. It names what the attempt waits
 * for: a service, or a reward function that took at least half of the time.
 */
function lateError({ ms, key }: TimeLimit, started: StartedAttempt, now: number): CancelledError {
  const { task, model, reasons } = started;
  const late = `The attempt took longer than ${ms / 1000} s (explorer.${key})`;
  const service = model.waitsFor?.();
  if (service !== undefined)
    return new CancelledError(
      `${late}, because it waits for an answer. ${service} has not given it: check that service.`,
      { reason: 'timeout', code: 'SERVICE_TIMEOUT' },
    );
  const scoredMs = now - (reasons.scoringSince() ?? now);
  if (scoredMs >= ms / 2)
    return new CancelledError(
      `${late}: its reward function ${rewardFnName(task)} had not answered after ${(scoredMs / 1000).toFixed(1)} s. ` +
        'Make the reward function faster, or raise the limit.',
      { reason: 'timeout', code: 'REWARD_TIMEOUT' },
    );
  return new CancelledError(
    `${late}. Make the workflow "${task.workflow}" faster, or raise the limit.`,
    { reason: 'timeout', code: 'ATTEMPT_TIMEOUT' },
  );
}

const limitOf = (
  task: Task,
  { settings, timeLimit }: Pick<AttemptOptions, 'settings' | 'timeLimit'>,
): TimeLimit => timeLimit?.(task) ?? { ms: settings.maxTimeoutMs, key: 'max_timeout' };

/**
 * Checks that the explorer is not being stopped.
 * @throws CancelledError if the explorer is being stopped
 */
export function assertNotStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new CancelledError('The explorer was stopped.', {
    reason: 'shutdown',
    cause: signal.reason,
  });
}

interface FailureReport {
  readonly error: Error;
  /** Consequence of the failure, such as "will be retried", for the log. @default no consequence */
  readonly consequence?: string;
  /** Number of attempts so far. */
  readonly tries: number;
  readonly logger: Logger;
}

/** Counts equal failures, of at most so many different texts. */
const countOfFailure = countPerLogger(1000);

/**
 * Logs a failure: as a warning for the first, second, fourth, eighth ... failure with this text, so
 * that a fault of every run does not flood the terminal, otherwise as information.
 */
export function reportFailure(
  failed: Attempt,
  { error, consequence, tries, logger }: FailureReport,
): void {
  const { task } = failed;
  const then = consequence === undefined ? '' : ` and ${consequence}`;
  const what = `of workflow "${task.workflow}" failed${then}: ${describeError(error)}`;
  const count = countOfFailure(logger, what) ?? 1;
  const level = Number.isInteger(Math.log2(count)) ? 'warn' : 'info';
  logger[level](`Run ${runId(failed)} ${what}${placeInCode(error, logger)}`, {
    taskset: task.index.taskset,
    row: task.index.row,
    attempt: tries,
    times: count > 1 ? count : undefined,
  });
}

/**
 * Maximum number of stack frames per message, and maximum number of different places in the user's
 * code that one logger reports.
 */
const [mostFrames, mostPlaces] = [3, 100];
const countOfPlace = countPerLogger(mostPlaces);
const notOwnCode =
  /\(?node:|\(<anonymous>\)$|Promise\.\w+ \(index|[\\/]node_modules[\\/]|[\\/]packages[\\/][\w-]+[\\/](?:src|dist)[\\/]/;

/**
 * Returns the innermost stack frames of the user's code, at most three. Returns an empty string if
 * there are none, or if this logger has already shown them or `mostPlaces` other places.
 */
function placeInCode(error: Error, logger: Logger): string {
  const innermost = causesOf(error).at(-1) ?? error;
  const frames = (innermost.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !notOwnCode.test(line))
    .slice(0, mostFrames);
  const place = frames.map((line) => `\n${line.trim()}`).join('');
  return place !== '' && countOfPlace(logger, place) === 1 ? place : '';
}

/** Returns a name such as `1/3/0 of workflow "simple_workflow"`, with batch, task and rollout. */
const runName = (attempt: Attempt): string =>
  `${runId(attempt)} of workflow "${attempt.task.workflow}"`;

const runId = ({ task, range }: Pick<Attempt, 'task' | 'range'>): string =>
  `${task.batchId}/${task.taskId}/${range.firstRun}`;

/** Idle instances of workflows that can be reset. */
export interface InstancePool {
  take(definition: WorkflowDefinition): WorkflowInstance | undefined;
  put(definition: WorkflowDefinition, instance: WorkflowInstance): void;
}

/** Creates an empty pool. */
export function createInstancePool(): InstancePool {
  const idle = new Map<string, WorkflowInstance[]>();
  return {
    take: ({ name }) => idle.get(name)?.pop(),
    put: ({ name }, instance) => {
      const instances = idle.get(name);
      if (instances) instances.push(instance);
      else idle.set(name, [instance]);
    },
  };
}
