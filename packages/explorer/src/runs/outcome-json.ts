/**
 * Converts outcomes of tasks for the transfer between processes. Experiences are transferred
 * separately; the other data is plain JSON.
 */
import { WorkflowError, type Experience, type Metrics, type Task } from '@trinity-rft/core';
import {
  decodeExperience,
  encodeExperience,
  reviveError,
  toErrorRecord,
  type ErrorRecord,
  type JsonState,
  type TaskResult,
} from '@trinity-rft/core/store';
import type { FailureKind } from './classify-failure.js';
import { isOk, type RunOutcome, type TaskOutcome } from './outcome.js';
import { cutOffError } from './task-end.js';

/** A number, or a string for a number that JSON cannot represent. */
type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity';

interface RunJson {
  readonly run: number;
  readonly seconds: number;
  /** Reward of a successful rollout. */
  readonly reward?: JsonNumber;
  readonly metrics?: Readonly<Record<string, JsonNumber>>;
  /**
   * Number of experiences of the rollout. The experiences of all rollouts are in
   * `TaskResult.experiences`, in the order of the rollouts.
   */
  readonly experiences?: number;
  /** Experiences of an evaluation, in base64. They are displayed, but not trained on. */
  readonly answers?: readonly string[];
  /** Time until which the rollout's reward is pending, in milliseconds since the epoch. */
  readonly rewardDeadline?: number;
  /** Kind of failure of a failed rollout. */
  readonly kind?: FailureKind;
  readonly error?: ErrorRecord;
}

interface OutcomeJson extends Omit<TaskOutcome, 'task' | 'runs' | 'attempts'> {
  readonly runs: readonly RunJson[];
}

export function toTaskResult(result: TaskOutcome): TaskResult {
  const { task, runs, attempts: _, ...counts } = result;
  const outcome: OutcomeJson = { ...counts, runs: runs.map(runJson) };
  return {
    experiences: runs.flatMap((run) => (run.status === 'ok' ? run.experiences : [])),
    outcome: outcome as unknown as JsonState,
    awaits: runs.flatMap((run) =>
      isOk(run) && run.rewardDeadline !== undefined
        ? [`${task.batchId}/${task.taskId}/${run.run}`]
        : [],
    ),
  };
}

/**
 * Restores an outcome from a result of {@link toTaskResult}. Errors have no stack traces. An empty
 * object in place of an outcome means that the task was cut off before it had a result.
 */
export function fromTaskResult(task: Task, { experiences, outcome }: TaskResult): TaskOutcome {
  if (Object.keys(outcome).length === 0) return cutOffOutcome(task);
  const { runs, ...counts } = outcome as unknown as OutcomeJson;
  let read = 0;
  const restored = runs.map((run) => {
    const first = read;
    read += run.experiences ?? 0;
    return runOutcome(run, experiences.slice(first, read));
  });
  return { task, runs: restored, ...counts };
}

const cutOffOutcome = (task: Task): TaskOutcome => ({
  task,
  runs: Array.from({ length: task.repeatTimes }, (_, run) => ({
    status: 'failed',
    run,
    kind: 'cancelled',
    error: cutOffError(),
    seconds: 0,
  })),
  retries: 0,
  timeouts: 0,
  isCutOff: true,
  seconds: 0,
});

function runJson(run: RunOutcome): RunJson {
  const { seconds } = run;
  if (run.status === 'failed')
    return { run: run.run, seconds, kind: run.kind, error: errorJson(run.error) };
  return {
    run: run.run,
    seconds,
    reward: jsonNumber(run.reward),
    metrics: Object.fromEntries(
      Object.entries(run.metrics).map(([name, value]) => [name, jsonNumber(value)]),
    ),
    experiences: run.experiences.length,
    answers: run.answers?.map((answer) => Buffer.from(encodeExperience(answer)).toString('base64')),
    rewardDeadline: run.rewardDeadline,
    error: run.failure && errorJson(run.failure),
  };
}

function runOutcome(json: RunJson, experiences: readonly Experience[]): RunOutcome {
  const { run, seconds, kind, error, rewardDeadline } = json;
  const failure = error && reviveError(error, WorkflowError);
  if (kind !== undefined && failure)
    return { status: 'failed', run, kind, seconds, error: failure };
  const metrics: Metrics = Object.fromEntries(
    Object.entries(json.metrics ?? {}).map(([name, value]) => [name, Number(value)]),
  );
  return {
    status: 'ok',
    run,
    seconds,
    experiences,
    answers: json.answers?.map((answer) => decodeExperience(Buffer.from(answer, 'base64'))),
    reward: Number(json.reward),
    rewardDeadline,
    metrics,
    failure,
  };
}

const jsonNumber = (value: number): JsonNumber =>
  Number.isFinite(value) ? value : (String(value) as JsonNumber);

/**
 * Converts an error without its stack. Only the process that executed the rollout logs the stack.
 */
function errorJson(error: unknown): ErrorRecord {
  const strip = (record: ErrorRecord): ErrorRecord => ({
    ...record,
    stack: undefined,
    cause: record.cause && strip(record.cause),
  });
  return strip(toErrorRecord(error));
}
