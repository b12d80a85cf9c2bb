/** Operators of the task pipeline: what one sees and says, and how a plugin declares one. */
import type { ArgSpec, ArgValues, ChatMessage, ChatOptions, RawTask } from '@trinity-rft/core';
import { checkName } from '@trinity-rft/core/support';

/** Verdict of an operator on a task; undefined: unchanged. */
export type TaskVerdict =
  | {
      /** Why it is left out: the same words for all tasks of one kind, which are counted by them. */
      readonly drop: string;
      /** More about this task. */
      readonly details?: string;
    }
  | {
      /** Columns that are added to its row, or replaced. */
      readonly set: Readonly<Record<string, unknown>>;
    }
  | undefined;

interface TaskOperatorContext {
  /** Columns with the texts of a task: `target_fields`, else prompt and response of its format. */
  readonly fields: readonly string[];
  /**
   * Asks the auxiliary model that the operator's arguments name. An answer is stored with the run: the
   * same question is not asked again when the run is interrupted.
   * @throws ModelError, which leaves the task out if it is not caught
   */
  readonly ask: (messages: readonly ChatMessage[], options?: AskOptions) => Promise<string>;
}

export type AskOptions = Pick<ChatOptions, 'temperature' | 'topP' | 'maxTokens'>;

/** Judges one task; called in the order of the rows. */
export type TaskFunction = (
  rawTask: RawTask,
  context: TaskOperatorContext,
) => TaskVerdict | Promise<TaskVerdict>;

/** A function of one task, or the order of all. */
type TaskOperator =
  | TaskFunction
  | {
      /** Below 0: `a` comes first. Tasks that compare as 0 stay in their order. */
      readonly compare: (a: RawTask, b: RawTask) => number;
    };

/** Facts that a configuration is checked against. */
interface TaskOperatorFacts {
  /** The argument that names the auxiliary model. @default it asks none */
  readonly auxiliaryModel?: string;
  /** Columns that it adds to each task. @default none */
  readonly adds?: readonly string[];
}

export interface TaskOperatorDefinition extends TaskOperatorFacts {
  readonly kind: 'trinity-rft.task-operator';
  readonly name: string;
  readonly args: ArgSpec;
  /** @throws ConfigError for arguments that contradict each other */
  create(args: Readonly<Record<string, unknown>>): TaskOperator;
}

export interface TaskOperatorOptions<S extends ArgSpec> extends TaskOperatorFacts {
  /** Name in `data_processor.task_pipeline.operators`. */
  readonly name: string;
  /** @default none */
  readonly args?: S;
  /** Called once per task set. */
  readonly create: (args: ArgValues<S>) => TaskOperator;
}

/**
 * Declares an operator of the task pipeline. Export the result from a plugin.
 * @throws ConfigError when the name is empty or has characters that are not allowed
 */
export function defineTaskOperator<const S extends ArgSpec = Readonly<Record<never, never>>>(
  options: TaskOperatorOptions<S>,
): TaskOperatorDefinition {
  const { name, args = {} as S, auxiliaryModel, adds, create } = options;
  return {
    kind: 'trinity-rft.task-operator',
    name: checkName('Task operator', name),
    args,
    auxiliaryModel,
    adds,
    create: (values) => create(values as ArgValues<S>),
  };
}

/** Recognises a result of {@link defineTaskOperator}, even from another copy of this package. */
export const isTaskOperator = (value: unknown): value is TaskOperatorDefinition =>
  (value as { readonly kind?: unknown } | null | undefined)?.kind === 'trinity-rft.task-operator';
