/** Names that a file can use, and the facts about them that checks need. */
import type { ArgProblem, ArgSpec, TaskRange } from '@trinity-rft/core';

/** Values by name, such as the registries of workflows and reward functions. */
export interface NameTable<Facts> {
  names(): readonly string[];
  /** Finds the value of a name or of an alias; undefined for an unknown name. */
  find(name: string): Facts | undefined;
  /** The name in the table for which `name` is an alias. @default no aliases */
  readAs?(name: string): string | undefined;
  /** Explains why a known name cannot be used, and what to use instead. @default no refusals */
  refusal?(name: string): string | undefined;
}

type Args = Readonly<Record<string, unknown>>;

export interface WorkflowFacts {
  /** Checks the arguments. @default all arguments are accepted */
  readonly checkArgs?: (args: Args) => readonly ArgProblem[];
  readonly needs?: {
    readonly prompt?: boolean;
    readonly rewardFn?: boolean;
    /**
     * Argument that selects an auxiliary model by name or position; without the argument, the first
     * model is used.
     */
    readonly auxiliaryModel?: string;
    /** Like `auxiliaryModel`, for an optional model: the argument may also be false. */
    readonly optionalModel?: string;
    /** Names of the auxiliary models that the arguments need; `args` are valid. */
    readonly models?: (args: Args) => readonly string[];
  };
  /** True if the workflow itself selects what is trained on. @default false */
  readonly selects?: boolean;
  /** Generates rows. Absent, or returns undefined, if the workflow generates none. */
  readonly tasks?: (args: Args, range: TaskRange) => readonly unknown[] | undefined;
}

export interface RewardFacts {
  /** @throws ConfigError for invalid arguments */
  create(args: Args): unknown;
}

export interface TaskOperatorFacts {
  readonly args: ArgSpec;
  /** The argument that names an auxiliary model. */
  readonly auxiliaryModel?: string;
  /** Columns that the operator adds to each task. */
  readonly adds?: readonly string[];
  /** @throws ConfigError for arguments that contradict each other */
  create(args: Args): unknown;
}

/** Names that a file may use. Without a table, names and arguments are not checked. */
export interface NameTables {
  readonly workflows?: NameTable<WorkflowFacts>;
  readonly rewardFns?: NameTable<RewardFacts>;
  readonly taskOperators?: NameTable<TaskOperatorFacts>;
}
