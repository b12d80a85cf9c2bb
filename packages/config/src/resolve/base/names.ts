/**
 * Types for the names that a configuration can use, and for the facts about these names that the
 * checks read.
 */
import type { ArgProblem, ArgSpec, TaskRange } from '@trinity-rft/core';

/** Table of values by name, such as the registry of workflows or that of reward functions. */
export interface NameTable<Facts> {
  names(): readonly string[];
  /** Returns the value of a name or of an alias, or undefined for an unknown name. */
  find(name: string): Facts | undefined;
  /** Returns the current name if `name` is an alias, otherwise undefined. @default no aliases */
  readAs?(name: string): string | undefined;
  /** Explains why a known name cannot be used, and what to use instead. @default no refusals */
  refusal?(name: string): string | undefined;
}

type Args = Readonly<Record<string, unknown>>;

export interface WorkflowFacts {
  /** Checks the arguments. @default no check */
  readonly checkArgs?: (args: Args) => readonly ArgProblem[];
  readonly needs?: {
    readonly prompt?: boolean;
    readonly rewardFn?: boolean;
    /**
     * Name of the argument that selects an auxiliary model, by the model's name or index. If the
     * argument is not set, the workflow uses the first model.
     */
    readonly auxiliaryModel?: string;
    /**
     * Name of the argument that selects an optional auxiliary model. Its value may also be false.
     */
    readonly optionalModel?: string;
    /** Returns the names of the auxiliary models that valid arguments require. */
    readonly models?: (args: Args) => readonly string[];
  };
  /** True if the workflow itself selects the experiences to train on. @default false */
  readonly selects?: boolean;
  /**
   * Generates the rows of tasks. Returns undefined if the workflow generates no tasks with these
   * arguments. @default the workflow generates no tasks
   */
  readonly tasks?: (args: Args, range: TaskRange) => readonly unknown[] | undefined;
}

export interface RewardFacts {
  /**
   * Creates the reward function.
   * @throws ConfigError for invalid arguments
   */
  create(args: Args): unknown;
}

export interface TaskOperatorFacts {
  readonly args: ArgSpec;
  /** Name of the argument that selects an auxiliary model. */
  readonly auxiliaryModel?: string;
  /** Columns that the operator adds to each task. */
  readonly adds?: readonly string[];
  /**
   * Creates the operator.
   * @throws ConfigError for arguments that contradict each other
   */
  create(args: Args): unknown;
}

/**
 * Tables of the names that a file may use. If a table is absent, its names and their arguments are
 * not checked.
 */
export interface NameTables {
  readonly workflows?: NameTable<WorkflowFacts>;
  readonly rewardFns?: NameTable<RewardFacts>;
  readonly taskOperators?: NameTable<TaskOperatorFacts>;
}
