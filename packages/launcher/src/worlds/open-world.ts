/** Opens one environment by its name, outside of a training run. */
import {
  ConfigError,
  type Logger,
  type RawTask,
  deriveSeed,
  silentLogger,
  systemClock,
  TaskError,
} from '@trinity-rft/core';
import {
  type EnvironmentDefinition,
  type SplitName,
  beginEpisode,
  type GuardedEpisode,
} from '../outer/outer.js';
import { loadExtensions, type ExtensionOptions } from '../run/configuration.js';

/** Environment to open, and the plugins that may define it. */
export interface WorldOptions extends Pick<
  ExtensionOptions,
  'plugins' | 'pluginDirs' | 'environments' | 'cwd'
> {
  readonly name: string;
  /** Arguments of the environment, as in `environment_args`. @default no arguments */
  readonly args?: Readonly<Record<string, unknown>>;
  /**
   * Maximum time in ms to wait for each response of the environment.
   * @default 300_000 for the start of an episode, as in a run; otherwise 60_000
   */
  readonly timeoutMs?: number;
  /** Name of the timeout in error messages. @default "timeoutMs" */
  readonly limitName?: string;
  /** Logger for messages of the environment. @default no logger */
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

export interface OpenWorld {
  readonly definition: EnvironmentDefinition;
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * Generates tasks.
   * @throws TaskError when the environment generates none, or fewer than `count`
   */
  tasks(split: SplitName, count: number, seed: number): readonly RawTask[];
  /**
   * Begins an episode of a task. @throws EnvironmentError if the environment fails; TaskError if it
   * cannot use the row
   */
  begin(row: RawTask): Promise<{ readonly episode: GuardedEpisode; readonly seed: number }>;
  close(): Promise<void>;
}

/**
 * Returns all environments that a configuration can name, sorted by name. @throws ConfigError for
 * plugins that cannot be loaded
 */
export async function listEnvironments(
  options: Omit<WorldOptions, 'name'>,
): Promise<readonly EnvironmentDefinition[]> {
  const { environments } = await loadExtensions(options);
  return environments
    .names()
    .toSorted()
    .map((name) => environments.get(name));
}

/**
 * Opens an environment.
 * @throws ConfigError for an unknown name, invalid arguments or plugins that cannot be loaded;
 * EnvironmentError if the environment fails
 */
export async function openWorld(options: WorldOptions): Promise<OpenWorld> {
  const { name, args = {}, logger = silentLogger } = options;
  const { timeoutMs = 60_000, timeoutMs: startTimeoutMs = 300_000 } = options;
  const { limitName = 'timeoutMs' } = options;
  const { signal = new AbortController().signal } = options;
  const { environments } = await loadExtensions(options);
  const definition = environments.get(name);
  const problems = definition.checkArgs(args);
  if (problems.length > 0)
    throw new ConfigError(
      problems.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'),
      { code: 'ENVIRONMENT_ARGS' },
    );
  const environment = await environments.open(name, args, logger);
  const limits = { timeoutMs, startTimeoutMs, limitName };
  const guard = { name, ...limits, clock: systemClock, logger, signal };
  return {
    definition,
    args,
    tasks: (split, count, seed) =>
      definition.tasks?.({ split, count, seed }, args) ?? noTasks(name),
    begin: async (row) => {
      const seed = deriveSeed(0, 'episode', JSON.stringify(row));
      return { episode: await beginEpisode(environment, { row, seed }, guard), seed };
    },
    close: () => environments.close(),
  };
}

function noTasks(name: string): never {
  throw new TaskError(
    `Environment "${name}" generates no tasks: its tasks come from a file. Give one with --row.`,
    { code: 'TASKS_NOT_GENERATED' },
  );
}
