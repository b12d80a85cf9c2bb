/** Needs of parts of a run from outside of their own code. */

/**
 * Declared beside a workflow, reward function, environment or monitor. `trinity config check`,
 * `trinity debug` and the start of a run verify it, so that a run does not fail at its first task.
 */
export interface Needs {
  /** Columns that have a value in every task row; of a list of names, one has. @default none */
  readonly columns?: readonly (string | readonly string[])[];
  /** Environment variables that are set, such as API keys. @default none */
  readonly env?: readonly string[];
  /** npm packages that can be imported. @default none */
  readonly packages?: readonly string[];
  /** Modules that a Python can import. @default none */
  readonly python?: PythonNeeds;
}

export interface PythonNeeds {
  /** The interpreter. @default "python3" */
  readonly program?: string;
  readonly modules: readonly string[];
  /** Folder that modules are imported from as well. @default none */
  readonly path?: string;
}
