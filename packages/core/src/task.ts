/** A task, with everything that a workflow needs to attempt it. */

/** Column names and fixed texts for reading `rawTask` (YAML `format`). */
export interface FormatArgs {
  /** Column of the prompt. @default "prompt" */
  readonly promptKey: string;
  /** Column of the reference answer. @default "response" */
  readonly responseKey: string;
  readonly systemPromptKey?: string;
  readonly systemPrompt?: string;
  readonly replyPrefix?: string;
  /** Column of the conversation. @default "message" */
  readonly messagesKey: string;
  /** Column of the tool definitions. @default "tools" */
  readonly toolsKey: string;
  readonly workflowKey?: string;
  readonly rewardFnKey?: string;
}

/**
 * Sampling settings of a task (YAML `rollout_args`). The model section of the configuration
 * supplies the missing fields.
 */
export interface RolloutArgs {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  /** Number of alternative tokens to report for each sampled token. */
  readonly logprobs?: number;
  readonly maxTokens?: number;
  /** Number of choices per call. */
  readonly n?: number;
}

export type RawTask = Readonly<Record<string, unknown>>;

/** A task to attempt. Immutable. `rawTask` is the unchanged row of the task set. */
export interface Task {
  /** Id of the task within its batch. */
  readonly taskId: number | string;
  /** Explore step, or `"<step>/<set>"` for evaluation. */
  readonly batchId: number | string;
  /** Registered name of the workflow. */
  readonly workflow: string;
  /** Registered name of the reward function, if there is one. */
  readonly rewardFn?: string;
  readonly rawTask: RawTask;
  readonly formatArgs: FormatArgs;
  readonly rolloutArgs: RolloutArgs;
  readonly workflowArgs: Readonly<Record<string, unknown>>;
  readonly rewardFnArgs: Readonly<Record<string, unknown>>;
  /** Number of rollouts of this task. */
  readonly repeatTimes: number;
  readonly isEval: boolean;
  /** Origin of the row: name of the task set and row number. */
  readonly index: { readonly taskset: string; readonly row: number };
}

/** Default column names of a task set. */
export const defaultFormatArgs: FormatArgs = {
  promptKey: 'prompt',
  responseKey: 'response',
  messagesKey: 'message',
  toolsKey: 'tools',
};

/**
 * Returns the prompt of the task, if the row has one. Values other than strings are returned as
 * JSON.
 */
export function taskPrompt(task: Task): string | undefined {
  return textOf(fieldOf(task.rawTask, task.formatArgs.promptKey));
}

/**
 * Returns the reference answer of the task, if the row has one. Values other than strings are
 * returned as JSON.
 */
export function taskTruth(task: Task): string | undefined {
  return textOf(fieldOf(task.rawTask, task.formatArgs.responseKey));
}

/**
 * Returns the system prompt of the task: the text in the column `format.system_prompt_key`,
 * otherwise `format.system_prompt`.
 */
export function taskSystemPrompt({
  rawTask,
  formatArgs,
}: Pick<Task, 'rawTask' | 'formatArgs'>): string | undefined {
  const { systemPromptKey: key, systemPrompt } = formatArgs;
  const own = key === undefined ? undefined : rawTask[key];
  return typeof own === 'string' ? own : systemPrompt;
}

/**
 * Returns the value of the column `key`. If there is no such column, `key` is read as a path into
 * nested objects and lists: `reward.truth`.
 */
export function fieldOf(row: RawTask, key: string): unknown {
  if (Object.hasOwn(row, key)) return row[key];
  let value: unknown = row;
  for (const part of key.split('.'))
    value = isNested(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  return value;
}

/** Returns true unless the value of a column is missing or blank. */
export const hasValue = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');

const isNested = (value: unknown): value is RawTask => typeof value === 'object' && value !== null;

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export type SplitName = 'train' | 'eval';

/** Split, number and random seed of generated tasks. */
export interface TaskRange {
  readonly split: SplitName;
  /** Number of tasks to generate. */
  readonly count: number;
  /** Unsigned 32-bit integer; different seeds give different tasks of the same split. */
  readonly seed: number;
}
