/**
 * Types of the operators of the task pipeline, and the function with which plugins define
 * operators.
 */
import type { ArgSpec, ArgValues, ChatMessage, ChatOptions, RawTask } from '@trinity-rft/core';
import { checkDefinition } from '@trinity-rft/core/support';

/**
 * Decision of an operator about a task: remove it, change its columns, or leave it unchanged
 * (undefined).
 */
export type TaskVerdict =
  | {
      /**
       * Reason for removing the task. Removed tasks are counted by reason, so use the same string
       * for all similar tasks.
       */
      readonly drop: string;
      /** Details that apply to this task only. */
      readonly details?: string;
    }
  | {
      /** Columns to add to the row, or to replace. */
      readonly set: Readonly<Record<string, unknown>>;
    }
  | undefined;

interface TaskOperatorContext {
  /**
   * Columns that contain the text of a task: `target_fields`, otherwise the prompt and response
   * columns of its format.
   */
  readonly fields: readonly string[];
  /**
   * Calls the auxiliary model that the operator's arguments name. Responses are stored with the
   * training run, so that a resumed training run does not repeat the call.
   * @throws ModelError if the call fails; if the operator does not catch the error, the task is
   * removed
   */
  readonly ask: (messages: readonly ChatMessage[], options?: AskOptions) => Promise<string>;
}

export type AskOptions = Pick<ChatOptions, 'temperature' | 'topP' | 'maxTokens'>;

/** Decides about one task. Calls start in the order of the rows. */
export type TaskFunction = (
  rawTask: RawTask,
  context: TaskOperatorContext,
) => TaskVerdict | Promise<TaskVerdict>;

/** An operator: a function that decides about single tasks, or an object that orders all tasks. */
type TaskOperator =
  | TaskFunction
  | {
      /**
       * Compares two tasks. Returns a negative number if `a` comes first. Tasks for which it
       * returns 0 keep their order.
       */
      readonly compare: (a: RawTask, b: RawTask) => number;
      /** Column that at least one task must have. @default no column */
      readonly column?: string;
    };

/** Properties of an operator by which the configuration is checked. */
interface TaskOperatorFacts {
  /** Name of the argument that selects the auxiliary model. @default no auxiliary model */
  readonly auxiliaryModel?: string;
  /** Columns that the operator adds to each task. @default no columns */
  readonly adds?: readonly string[];
}

export interface TaskOperatorDefinition extends TaskOperatorFacts {
  readonly kind: 'trinity-rft.task-operator';
  readonly name: string;
  readonly args: ArgSpec;
  /**
   * Creates the operator from its arguments.
   * @throws ConfigError for arguments that contradict each other
   */
  create(args: Readonly<Record<string, unknown>>): TaskOperator;
}

export interface TaskOperatorOptions<S extends ArgSpec> extends TaskOperatorFacts {
  /** Name in `data_processor.task_pipeline.operators`. */
  readonly name: string;
  /** Arguments with their types, defaults and ranges. @default no arguments */
  readonly args?: S;
  /** Creates the operator from its arguments. Called once per task set. */
  readonly create: (args: ArgValues<S>) => TaskOperator;
}

/**
 * Declares an operator of the task pipeline. Export the result from a plugin.
 * @throws ConfigError for a name with characters that are not allowed, without `create`, and for
 * an unknown option
 */
export function defineTaskOperator<const S extends ArgSpec = Readonly<Record<never, never>>>(
  options: TaskOperatorOptions<S>,
): TaskOperatorDefinition {
  const { args = {} as S, auxiliaryModel, adds, create } = options;
  return {
    kind: 'trinity-rft.task-operator',
    name: checkDefinition('Task operator', options, {
      create: 'function',
      args: 'any',
      auxiliaryModel: 'any',
      adds: 'any',
    }),
    args,
    auxiliaryModel,
    adds,
    create: (values) => create(values as ArgValues<S>),
  };
}

/**
 * Returns true for a result of {@link defineTaskOperator}, even if another copy of this package
 * created it.
 */
export const isTaskOperator = (value: unknown): value is TaskOperatorDefinition =>
  (value as { readonly kind?: unknown } | null | undefined)?.kind === 'trinity-rft.task-operator';
