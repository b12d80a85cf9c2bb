/**
 * One task, its group of runs: attempts with a deadline each, retries of what failed, and failures
 * as data.
 */
import {
  CancelledError,
  describeError,
  type Logger,
  type Metrics,
  type RewardFn,
  type Runtime,
  type Task,
} from '@trinity-rft/core';
import type {
  AgentModel,
  WorkflowContext,
  WorkflowDefinition,
  WorkflowInstance,
  WorkflowResult,
} from '@trinity-rft/workflow';
import {
  classifyFailure,
  isOwnFailure,
  isWorthRetrying,
  type Failure,
  type FailureKind,
} from './classify-failure.js';
import { finishRuns, type FinishedRun } from './finish-runs.js';

/**
 * A model for one attempt. It refuses calls once the attempt's signal has aborted, so an attempt
 * that outlives its deadline records nothing.
 */
export interface AttemptModel {
  readonly model: AgentModel;
  readonly auxiliaryModels: ReadonlyMap<string, AgentModel>;
  /** Numbers about the calls that were made (`forks/…`, `tool_calls`, …). */
  metrics(): Metrics;
}

export interface AttemptKey {
  readonly task: Task;
  /** First run of the attempt. */
  readonly run: number;
  readonly attempt: number;
  /** Aborts when the attempt is over, however it ended. */
  readonly signal: AbortSignal;
}

/** Limits of runs, by the names of a configuration's section `explorer`. */
export interface RunSettings {
  /** Of each attempt. */
  readonly maxTimeoutMs: number;
  /** Further attempts of a run that failed. */
  readonly maxRetryTimes: number;
  /**
   * Reward of a training run whose agent threw, or whose prompt grew too long, after it had called
   * the model; such a run is not tried again. Deadlines, engine faults and failing reward functions
   * say nothing about the agent, so those runs stay failures, as do runs of workflows that repeat by
   * themselves. @default none: a failed run gives no experiences
   */
  readonly failureReward?: number;
}

export interface RunTaskOptions {
  readonly definition: WorkflowDefinition;
  readonly rewardFn?: RewardFn;
  readonly createModel: (key: AttemptKey) => AttemptModel;
  readonly settings: RunSettings;
  /** Bounds how many attempts are in flight in the whole explorer. */
  readonly limit: <T>(work: () => Promise<T>) => Promise<T>;
  /** Instances to use again, when the workflow can be reset. */
  readonly pool: InstancePool;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

export type RunOutcome =
  /** `failure`: the agent failed, and its calls got the failure reward. */
  | ({ readonly status: 'ok' } & FinishedRun & {
        readonly seconds: number;
        readonly failure?: Error;
      })
  | {
      readonly status: 'failed';
      readonly run: number;
      readonly kind: FailureKind;
      readonly error: Error;
      readonly seconds: number;
    };

export interface TaskOutcome {
  readonly task: Task;
  /** In run order. */
  readonly runs: readonly RunOutcome[];
  /** Attempts beyond the first, of all runs. */
  readonly retries: number;
  /** Attempts that ran into their deadline. */
  readonly timeouts: number;
  readonly seconds: number;
}

/** Workflow instances between two tasks. */
export interface InstancePool {
  take(definition: WorkflowDefinition): WorkflowInstance | undefined;
  put(definition: WorkflowDefinition, instance: WorkflowInstance): void;
}

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

/**
 * Makes all runs of `task`. Rejects only when the explorer itself is stopped; whatever a workflow
 * does is in the outcome.
 */
export async function runTask(task: Task, options: RunTaskOptions): Promise<TaskOutcome> {
  const { definition, runtime } = options;
  const begun = runtime.clock.now();
  const units = definition.canRepeat
    ? [{ run: 0, count: task.repeatTimes }]
    : Array.from({ length: task.repeatTimes }, (_, run) => ({ run, count: 1 }));
  const results = await Promise.all(units.map((unit) => runUnit(task, unit, options)));
  return {
    task,
    runs: results.flatMap((result) => result.runs),
    retries: results.reduce((sum, result) => sum + result.retries, 0),
    timeouts: results.reduce((sum, result) => sum + result.timeouts, 0),
    seconds: (runtime.clock.now() - begun) / 1000,
  };
}

/**
 * Runs that succeed or fail together: all of a group for a workflow that repeats by itself, else
 * one.
 */
interface Unit {
  readonly run: number;
  readonly count: number;
}

interface UnitResult {
  readonly runs: readonly RunOutcome[];
  readonly retries: number;
  readonly timeouts: number;
}

async function runUnit(task: Task, unit: Unit, options: RunTaskOptions): Promise<UnitResult> {
  let timeouts = 0;
  for (let attempt = 0; ; attempt++) {
    const result = await options.limit(() => runAttempt(task, unit, attempt, options));
    if (result.status === 'ok') return { runs: result.runs, retries: attempt, timeouts };
    if (result.kind === 'timed_out') timeouts++;
    const last = attempt >= options.settings.maxRetryTimes || !isWorthRetrying(result.error);
    report(
      options.runtime.logger,
      task,
      unit,
      attempt,
      result.error,
      last ? undefined : 'is tried again',
    );
    if (!last) continue;
    const { kind, error, seconds } = result;
    const runs = Array.from({ length: unit.count }, (_, i) => ({
      status: 'failed' as const,
      run: unit.run + i,
      kind,
      error,
      seconds,
    }));
    return { runs, retries: attempt, timeouts };
  }
}

/**
 * The reward for what the agent did before it failed; undefined where the failure is not its own.
 */
function failureRewardOf(
  failure: Failure,
  task: Task,
  unit: Unit,
  { settings: { failureReward } }: RunTaskOptions,
): number | undefined {
  return isOwnFailure(failure) && !task.isEval && unit.count === 1 ? failureReward : undefined;
}

function report(
  logger: Logger,
  task: Task,
  unit: Unit,
  attempt: number,
  error: Error,
  consequence: string | undefined,
): void {
  const which = `${task.batchId}/${task.taskId}/${unit.run}`;
  const fields = { taskset: task.index.taskset, row: task.index.row, attempt: attempt + 1 };
  logger.warn(
    `Run ${which} of workflow "${task.workflow}" failed${consequence === undefined ? '' : ` and ${consequence}`}: ${describeError(error)}`,
    fields,
  );
}

type AttemptResult =
  | { readonly status: 'ok'; readonly runs: readonly RunOutcome[] }
  | {
      readonly status: 'failed';
      readonly kind: FailureKind;
      readonly error: Error;
      readonly seconds: number;
    };

async function runAttempt(
  task: Task,
  unit: Unit,
  attempt: number,
  options: RunTaskOptions,
): Promise<AttemptResult> {
  const { definition, runtime } = options;
  const abort = new AbortController();
  const signal = AbortSignal.any([options.signal, abort.signal]);
  const begun = runtime.clock.now();
  const seconds = (): number => (runtime.clock.now() - begun) / 1000;
  const attemptModel = options.createModel({ task, run: unit.run, attempt, signal });
  const { model, auxiliaryModels } = attemptModel;
  const context: WorkflowContext = {
    task,
    model,
    auxiliaryModels,
    runtime,
    signal,
    rewardFn: options.rewardFn,
  };
  const finish = (result: WorkflowResult, failure?: Error): AttemptResult => {
    const runs = finishRuns(result, { task, firstRun: unit.run, count: unit.count, model });
    const metrics = attemptModel.metrics();
    const shared = { status: 'ok' as const, seconds: seconds(), ...(failure && { failure }) };
    return {
      status: 'ok',
      runs: runs.map((run) => ({ ...shared, ...run, metrics: { ...metrics, ...run.metrics } })),
    };
  };
  try {
    const { instance, result } = await beforeDeadline(execute(context, unit, options), {
      task,
      abort,
      options,
    });
    const finished = finish(result);
    if (definition.canReset) options.pool.put(definition, instance);
    return finished;
  } catch (error) {
    if (options.signal.aborted)
      throw new CancelledError('The explorer was stopped.', {
        reason: 'shutdown',
        cause: options.signal.reason,
      });
    const failed = {
      status: 'failed' as const,
      ...classifyFailure(error, task.workflow),
      seconds: seconds(),
    };
    const reward = failureRewardOf(failed, task, unit, options);
    if (reward === undefined) return failed;
    try {
      const scored = finish({ reward }, failed.error);
      report(
        runtime.logger,
        task,
        unit,
        attempt,
        failed.error,
        `gets the failure reward ${reward}`,
      );
      return scored;
    } catch {
      // It had not called the model, so there is nothing to give the reward to.
      return failed;
    }
  } finally {
    abort.abort(new CancelledError('The attempt is over.', { reason: 'aborted' }));
  }
}

async function execute(
  context: WorkflowContext,
  unit: Unit,
  options: RunTaskOptions,
): Promise<{ instance: WorkflowInstance; result: WorkflowResult }> {
  const { definition, pool } = options;
  const used = definition.canReset ? pool.take(definition) : undefined;
  const instance = used ?? definition.create(context);
  if (used) await used.reset?.(context);
  if (definition.canRepeat) instance.setRepeatTimes?.(unit.count, unit.run);
  return { instance, result: await instance.run() };
}

interface DeadlineOptions {
  readonly task: Task;
  readonly abort: AbortController;
  readonly options: RunTaskOptions;
}

/**
 * Rejects at the deadline even if the workflow ignores its signal; what the workflow does
 * afterwards reaches nobody.
 */
async function beforeDeadline<T>(
  work: Promise<T>,
  { task, abort, options }: DeadlineOptions,
): Promise<T> {
  const { maxTimeoutMs } = options.settings;
  const deadline = options.runtime.clock
    .sleep(maxTimeoutMs, AbortSignal.any([options.signal, abort.signal]))
    .then(() => {
      const error = new CancelledError(
        `The attempt took longer than ${maxTimeoutMs / 1000} s (explorer.max_timeout). Give the workflow "${task.workflow}" a faster way out or raise the limit.`,
        { reason: 'timeout', code: 'ATTEMPT_TIMEOUT' },
      );
      abort.abort(error);
      throw error;
    });
  // Whoever loses the race may still reject; nobody waits for it any more.
  work.catch(() => undefined);
  deadline.catch(() => undefined);
  return Promise.race([work, deadline]);
}
