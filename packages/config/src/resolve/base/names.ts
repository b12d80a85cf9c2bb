/** Workflows, reward functions and task operators that a file may name, as far as a check has to know them. */
import type { ArgProblem, ArgSpec, TaskRange } from '@trinity-rft/core';

/** Values by name. The registries of workflows and of reward functions fit. */
export interface NameTable<Facts> {
  names(): readonly string[];
  /** Looks a name up, or an alias that is read as it; undefined for an unknown name. */
  find(name: string): Facts | undefined;
  /** The name of the table that another one is read as. @default there are no other names */
  readAs?(name: string): string | undefined;
  /** Why a known name cannot be used, and what to use instead. @default none is refused */
  refusal?(name: string): string | undefined;
}

type Args = Readonly<Record<string, unknown>>;

export interface WorkflowFacts {
  /** Absent: anything goes. */
  readonly checkArgs?: (args: Args) => readonly ArgProblem[];
  readonly needs?: {
    readonly prompt?: boolean;
    readonly rewardFn?: boolean;
    /** The argument that selects an auxiliary model, by name or position; by default the first. */
    readonly auxiliaryModel?: string;
    /** The same, where the workflow can do without; the argument may be false as well. */
    readonly optionalModel?: string;
    /** Names of auxiliary models that these arguments, which are valid, ask for. */
    readonly models?: (args: Args) => readonly string[];
  };
  /** It decides itself what is trained. @default false */
  readonly selects?: boolean;
  /** Generates rows; absent or undefined: it cannot. */
  readonly tasks?: (args: Args, range: TaskRange) => readonly unknown[] | undefined;
}

export interface RewardFacts {
  /** @throws ConfigError for arguments that it does not accept */
  create(args: Args): unknown;
}

export interface TaskOperatorFacts {
  readonly args: ArgSpec;
  /** The argument that names an auxiliary model. */
  readonly auxiliaryModel?: string;
  /** Columns that it adds to each task. */
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
