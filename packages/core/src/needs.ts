/**
 * Requirements of a workflow, reward function, environment or monitor. They are checked by `trinity
 * config check`, by `trinity debug`, and when a training run starts, so that a missing requirement
 * is found before the first task.
 */
export interface Needs {
  /**
   * Columns that must have a value in every task row. If an entry is a list of names, at least one
   * of these columns must have a value.
   * @default no columns
   */
  readonly columns?: readonly (string | readonly string[])[];
  /** Environment variables that must be set, such as API keys. @default no variables */
  readonly env?: readonly string[];
  /** npm packages that must be importable. @default no packages */
  readonly packages?: readonly string[];
  /** Python modules that must be importable. @default no modules */
  readonly python?: PythonNeeds;
}

export interface PythonNeeds {
  /** Command of the Python interpreter. @default "python3" */
  readonly program?: string;
  readonly modules: readonly string[];
  /** Additional folder from which modules are imported. @default no folder */
  readonly path?: string;
}
