/** Executes a task pipeline: applies the operators in order, then orders the remaining tasks. */
import {
  describeError,
  ModelError,
  type ChatMessage,
  type RawTask,
  CancelledError,
  TaskError,
} from '@trinity-rft/core';
import { fieldOf, hasValue } from '@trinity-rft/core/internal';
import { copyOf, returnedBy, type Returned } from '@trinity-rft/core/support';
import type {
  AskOptions,
  TaskFunction,
  TaskOperatorDefinition,
  TaskVerdict,
} from './definition/operator.js';
import { byPriority, type PriorityWeights } from './priority.js';

export interface PipelineStep {
  readonly definition: TaskOperatorDefinition;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A call of an auxiliary model that an operator requests. */
export interface Question {
  readonly step: PipelineStep;
  /** Index of the input row, from 0. */
  readonly row: number;
  /** Number of calls that the same operator has already made for the same task. */
  readonly call: number;
  readonly messages: readonly ChatMessage[];
  readonly options: AskOptions;
}

export interface TaskPipelineOptions {
  readonly steps: readonly PipelineStep[];
  /** Columns that contain the text of a task. */
  readonly fields: readonly string[];
  /**
   * Weights of the scores in the priority.
   * @default quality 1 and difficulty -0.7, for the scores that exist; no weights if an operator
   * orders the tasks
   */
  readonly weights?: PriorityWeights;
  /** Number of tasks to keep, from the start of the final order. @default all tasks */
  readonly topK?: number;
  /** Number of tasks that an operator handles concurrently. */
  readonly concurrency: number;
  /**
   * Calls an auxiliary model. Without this function, operators that need a model remove no tasks,
   * and set the columns that they add to 0.
   * @default no function
   */
  readonly ask?: (question: Question) => Promise<string>;
  /** Called after each task that an operator has judged. */
  readonly onProgress?: (progress: PipelineProgress) => void;
  readonly signal?: AbortSignal;
}

export interface PipelineProgress {
  readonly operator: string;
  readonly done: number;
  readonly of: number;
  /** Number of tasks, among those in `done`, for which the call of the model failed. */
  readonly failed: number;
}

export interface DroppedTask {
  /** Index of the input row, from 0. */
  readonly row: number;
  readonly operator: string;
  readonly reason: string;
  readonly details?: string;
}

export interface PipelineResult {
  readonly rows: readonly RawTask[];
  /** Removed tasks, in the order in which they were removed. */
  readonly dropped: readonly DroppedTask[];
  /** Number of tasks without a priority, because they lack one of the scores. */
  readonly unordered: number;
}

interface Candidate {
  readonly row: number;
  readonly rawTask: RawTask;
}

/**
 * Executes a task pipeline.
 * @throws TaskError if no task is left, an operator throws, no task has the column that an operator
 * orders by, or the model no longer answers; CancelledError if `signal` aborts
 */
export async function runTaskPipeline(
  rows: readonly RawTask[],
  options: TaskPipelineOptions,
): Promise<PipelineResult> {
  const dropped: DroppedTask[] = [];
  let tasks: readonly Candidate[] = rows.map((rawTask, row) => ({ row, rawTask }));
  for (const step of options.steps) tasks = await apply(step, tasks, { ...options, dropped });
  const isOrdered = options.steps.some(
    ({ definition, args }) => 'compare' in definition.create(args),
  );
  const { ordered, unordered } = byPriority(tasks, options.weights, isOrdered);
  const kept = ordered.slice(0, options.topK);
  for (const { row } of ordered.slice(kept.length))
    dropped.push({ row, operator: 'top_k', reason: `not among the first ${kept.length}` });
  if (kept.length === 0) throw nothingLeft(rows, dropped);
  return { rows: kept.map(({ rawTask }) => rawTask), dropped, unordered };
}

type StepOptions = TaskPipelineOptions & { readonly dropped: DroppedTask[] };

async function apply(
  step: PipelineStep,
  tasks: readonly Candidate[],
  options: StepOptions,
): Promise<readonly Candidate[]> {
  const { definition, args } = step;
  const operator = definition.create(args);
  if (typeof operator !== 'function') {
    const by = returnedByOperator(definition);
    const { column } = operator;
    const [first] = tasks;
    if (
      first !== undefined &&
      column !== undefined &&
      !lacksAnswers(step, options) &&
      tasks.every(({ rawTask }) => !hasValue(fieldOf(rawTask, column)))
    )
      throw noColumn(definition.name, column, first);
    return tasks.toSorted((a, b) => {
      const order: unknown = operator.compare(a.rawTask, b.rawTask);
      if (typeof order === 'number' && !Number.isNaN(order)) return order;
      throw by.refuse(order, 'a number', ' from compare');
    });
  }
  if (definition.auxiliaryModel !== undefined && !options.ask)
    return tasks.map((task) => withColumns(task, zeros(definition)));
  const verdicts = await judgeAll(operator, tasks, { ...options, step });
  return tasks.flatMap((task, i) => {
    const verdict = verdicts[i];
    if (verdict === undefined) return [task];
    if ('set' in verdict) return [withColumns(task, verdict.set)];
    const { drop: reason, details } = verdict;
    options.dropped.push({ row: task.row, operator: definition.name, reason, details });
    return [];
  });
}

/** Returns true if an earlier operator has set no columns, because it asks a model. */
const lacksAnswers = (step: PipelineStep, { steps, ask }: StepOptions): boolean =>
  ask === undefined &&
  steps
    .slice(0, steps.indexOf(step))
    .some(({ definition }) => definition.auxiliaryModel !== undefined);

const withColumns = ({ row, rawTask }: Candidate, columns: object): Candidate => ({
  row,
  rawTask: { ...rawTask, ...columns },
});

const zeros = ({ adds = [] }: TaskOperatorDefinition): object =>
  Object.fromEntries(adds.map((column) => [column, 0]));

/**
 * Number of consecutive failed calls after which the pipeline fails. This detects a wrong URL or API
 * key before thousands of calls are made, and prevents an outage of the model from removing all
 * later tasks.
 */
const hopeless = 8;

/**
 * HTTP status codes of requests that the model refuses, such as a text longer than its context.
 * They are the task's failure, unless the model has not answered any request yet.
 */
const refused: readonly number[] = [400, 413, 422];

/**
 * Number of consecutive refusals with the same message after which the pipeline ends. Some services
 * refuse all requests of an account without credit in this way.
 */
const hopelessRefusals = 64;

type JudgeOptions = StepOptions & { readonly step: PipelineStep };

/**
 * Applies an operator to all tasks, and returns its decisions in the order of the tasks. Starts the
 * tasks in this order.
 */
async function judgeAll(
  judge: TaskFunction,
  tasks: readonly Candidate[],
  options: JudgeOptions,
): Promise<readonly TaskVerdict[]> {
  const { step, concurrency, onProgress, signal } = options;
  const { name: operator } = step.definition;
  const verdicts: TaskVerdict[] = [];
  const counts = { next: 0, done: 0, failed: 0, answers: 0 };
  /** Rows of the failed calls since the last answer; those of refusals by their message. */
  const failing = new Map<string, number[]>();
  const worker = async (): Promise<void> => {
    for (let i = counts.next++; i < tasks.length; i = counts.next++) {
      if (signal?.aborted) throw cancelled(signal);
      const task = tasks[i] as Candidate;
      const { verdict, answers, failure } = await judgeOne(judge, task, options);
      verdicts[i] = verdict;
      counts.done += 1;
      counts.answers += answers;
      if (failure) {
        counts.failed += 1;
        const isRefusal = counts.failed < counts.done && refused.includes(failure.status);
        const key = isRefusal ? failure.message : '';
        const rows = [...(failing.get(key) ?? []), task.row];
        failing.set(key, rows);
        if (rows.length >= (isRefusal ? hopelessRefusals : Math.min(hopeless, tasks.length)))
          throw modelFails(operator, rows, counts.answers, failure);
      } else if (answers > 0) failing.clear();
      onProgress?.({ operator, done: counts.done, of: tasks.length, failed: counts.failed });
    }
  };
  // A worker that fails leaves no task to the others, whose calls in flight are awaited.
  const workers = Array.from({ length: Math.min(concurrency, tasks.length) }, () =>
    worker().finally(() => (counts.next = tasks.length)),
  );
  try {
    await Promise.all(workers);
  } finally {
    await Promise.allSettled(workers);
  }
  return verdicts;
}

interface Judged {
  readonly verdict: TaskVerdict;
  /** Number of model calls that were answered. */
  readonly answers: number;
  /** Error of the model call. Absent if the call succeeded. */
  readonly failure?: ModelError;
}

async function judgeOne(
  judge: TaskFunction,
  { row, rawTask }: Candidate,
  { step, fields, ask, signal }: JudgeOptions,
): Promise<Judged> {
  let [call, answers] = [0, 0];
  const context = {
    fields,
    ask: async (messages: readonly ChatMessage[], options: AskOptions = {}): Promise<string> => {
      if (step.definition.auxiliaryModel === undefined || !ask)
        throw new TaskError(
          `Task operator "${step.definition.name}" asks a model, but its definition names no argument for one. Set auxiliaryModel in defineTaskOperator.`,
          { code: 'TASK_OPERATOR_MODEL' },
        );
      const answer = await ask({ step, row, call: call++, messages, options });
      answers += 1;
      return answer;
    },
  };
  try {
    const verdict: unknown = await judge(copyOf(rawTask), context);
    return { verdict: readVerdict(verdict, row, step), answers };
  } catch (error) {
    if (signal?.aborted) throw cancelled(signal);
    if (error instanceof ModelError)
      return {
        verdict: { drop: 'the model did not answer', details: error.message },
        answers,
        failure: error,
      };
    if (error instanceof CancelledError || error instanceof TaskError) throw error;
    throw new TaskError(
      `Task operator "${step.definition.name}" failed on row ${row}: ${describeError(error)}`,
      { code: 'TASK_OPERATOR', cause: error },
    );
  }
}

const returnedByOperator = ({ name }: TaskOperatorDefinition, place = ''): Returned =>
  returnedBy(
    `Task operator "${name}"`,
    (message) => new TaskError(message, { code: 'TASK_OPERATOR' }),
    place,
  );

function readVerdict(verdict: unknown, row: number, { definition }: PipelineStep): TaskVerdict {
  if (verdict === undefined) return undefined;
  const by = returnedByOperator(definition, ` for row ${row}`);
  const form = '{ drop: reason }, { set: columns } or nothing';
  const { drop, details, set } = by.fields(verdict, ['drop', 'details', 'set'], form);
  if (set !== undefined) return { set: by.info(set, ' as set') };
  if (drop === undefined) throw by.refuse(verdict, form);
  const why = details === undefined ? {} : { details: by.text(details, ' as details') };
  return { drop: by.text(drop, ' as drop'), ...why };
}

const cancelled = (signal: AbortSignal): CancelledError =>
  new CancelledError('The task pipeline was stopped.', {
    reason: 'shutdown',
    cause: signal.reason,
  });

/** Maximum number of rows that an error names. */
const mostRows = 8;

function modelFails(
  operator: string,
  rows: readonly number[],
  answers: number,
  cause: ModelError,
): TaskError {
  const isOne = rows.length === 1;
  const calls = isOne ? '1 call' : `${rows.length} consecutive calls`;
  const named = `${isOne ? 'row' : 'rows'} ${rows.slice(0, mostRows).join(', ')}`;
  const others = rows.length > mostRows ? ` and ${rows.length - mostRows} others` : '';
  const kept =
    answers === 0
      ? ''
      : ` ${answers} answers are kept: when the model answers again, start the run again.`;
  return new TaskError(
    `Task operator "${operator}": ${calls} of its model failed, for ${named}${others}. The last one: ${cause.message}${kept} If the model cannot answer these rows, lower num_process, raise explorer.max_timeout, or leave the rows out.`,
    { code: 'TASK_MODEL', cause },
  );
}

const noColumn = (operator: string, column: string, { rawTask }: Candidate): TaskError =>
  new TaskError(
    `Task operator "${operator}" names the column "${column}", under which no task has a value. The columns of the first one are ${Object.keys(rawTask).join(', ')}. Name the right one.`,
    { code: 'TASK_COLUMN' },
  );

function nothingLeft(rows: readonly RawTask[], dropped: readonly DroppedTask[]): TaskError {
  return new TaskError(
    `The task pipeline leaves none of ${rows.length} tasks: ${describeDropped(dropped)}. Loosen its operators, or correct the columns that they name: the first task has ${Object.keys(rows[0] ?? {}).join(', ')}.`,
    { code: 'TASKS_NONE_LEFT' },
  );
}

/**
 * Summarises the removed tasks as text, such as
 * `text_length_filter 40 (shorter than 10 characters 38, longer than 99 characters 2)`.
 */
export function describeDropped(dropped: readonly DroppedTask[]): string {
  const operators = new Map<string, Map<string, number>>();
  for (const { operator, reason } of dropped) {
    const reasons = operators.get(operator) ?? new Map<string, number>();
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    operators.set(operator, reasons);
  }
  return [...operators]
    .map(([operator, reasons]) => {
      const counts = [...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ');
      const total = [...reasons.values()].reduce((sum, count) => sum + count, 0);
      return `${operator} ${total} (${counts})`;
    })
    .join('; ');
}
