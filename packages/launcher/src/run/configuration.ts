/**
 * Loads the plugins that a configuration names, then reads the configuration and checks the names
 * of parts in it.
 */
import path from 'node:path';
import type { RowDriver } from '@trinity-rft/buffer/driver';
import { taskOperatorTable } from '@trinity-rft/buffer/internal';
import { builtInTables, extendTables, type Definition } from '@trinity-rft/algorithm';
import { loadConfig, type LoadConfigOptions, type LoadedConfig } from '@trinity-rft/config';
import { configError, readModuleNames } from '@trinity-rft/config/internal';
import { ConfigError, type Clock, type Monitor, systemClock } from '@trinity-rft/core';
import type { EngineFactory } from '@trinity-rft/core/engine';
import { knowSecretsOf, timestamp } from '@trinity-rft/core/support';
import { type RewardDefinition, type WorkflowDefinition } from '@trinity-rft/workflow';
import { createRewardRegistry, createWorkflowRegistry } from '@trinity-rft/workflow/internal';
import {
  type EnvironmentDefinition,
  createEnvironments,
  drivers,
  builtInEnvironments,
  environmentWorkflow,
  withWorldTypes,
  worldWorkflows,
} from '../outer/outer.js';
import { engineTable } from '../assembly/models/engines.js';
import type { Extensions } from '../context/stage-context.js';
import { loadPlugins, type PluginOptions, type Plugins } from '../plugins/load.js';

/** Parts that a program adds to the built-in parts and those of plugins. */
export interface ExtensionOptions extends PluginOptions {
  /** Additional workflows and reward functions. */
  readonly workflows?: readonly WorkflowDefinition[];
  readonly rewardFns?: readonly RewardDefinition[];
  /** Additional environments. */
  readonly environments?: readonly EnvironmentDefinition[];
  /** Additional algorithms and parts of algorithms. */
  readonly algorithms?: readonly Definition[];
  /** Additional engines. */
  readonly engines?: readonly EngineFactory[];
  /** Consumers of metrics, in addition to those of the configuration. */
  readonly monitors?: readonly Monitor[];
  /**
   * Opens storage for experiences other than SQLite. Called with the path of the experience buffer.
   * The storage is closed at the end of the training run. Must throw if another process has the
   * storage open. The studio and other readers of a training run's files only support SQLite.
   */
  readonly openRows?: (path: string) => RowDriver;
}

export interface ConfigurationOptions
  extends
    ExtensionOptions,
    Pick<LoadConfigOptions, 'overrides' | 'overridesName' | 'text' | 'runName'> {
  /** Path of the YAML file. */
  readonly configPath: string;
  /**
   * True to check that the workflows and reward functions that the file names exist. False for
   * commands that only read the files of a training run, and need neither these parts nor plugins.
   * @default true
   */
  readonly checkNames?: boolean;
  /**
   * True if the caller does not start a training run. If `continue_from_checkpoint` is false, the
   * configuration then has the name of the newest training run instead of a new name. @default
   * false
   */
  readonly readsRun?: boolean;
  /**
   * Environment variables of the training run. During a stage, they are also set in `process.env`,
   * which workflows read. @default process.env
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Clock that provides the current time. @default the system clock */
  readonly clock?: Clock;
}

export interface Configuration extends Extensions {
  readonly loaded: LoadedConfig;
}

/**
 * Loads plugins, and merges their parts with the built-in parts and the parts in `options`.
 * @param projects additional folders in whose `node_modules` plugins are looked up, after `cwd`
 * @throws ConfigError for plugins that cannot be loaded, and for names that are used twice
 */
export async function loadExtensions(
  options: ExtensionOptions,
  projects: readonly string[] = [],
): Promise<Extensions> {
  const plugins = await loadPlugins(options, projects);
  try {
    return merged(options, plugins);
  } catch (error) {
    const { code, details, message } = error as Partial<ConfigError>;
    const files = code === 'DUPLICATE_NAME' ? plugins.filesOf(String(details?.['name'])) : [];
    if (files.length === 0) throw error;
    throw new ConfigError(`${message} It is defined in ${files.join(' and ')}.`, { code, details });
  }
}

/** @throws ConfigError for names that are used twice */
function merged(options: ExtensionOptions, plugins: Plugins): Extensions {
  const { workflows = [], rewardFns = [], algorithms = [], engines } = options;
  const environments = createEnvironments([
    ...drivers,
    ...builtInEnvironments,
    ...plugins.environments,
    ...(options.environments ?? []),
  ]);
  const definitions = [...plugins.algorithms, ...algorithms];
  return {
    environments,
    workflows: createWorkflowRegistry(
      [
        environmentWorkflow(environments),
        ...worldWorkflows(environments),
        ...plugins.workflows,
        ...workflows,
      ],
      (builtIn) => withWorldTypes(builtIn, environments),
    ),
    rewardFns: createRewardRegistry([...plugins.rewardFns, ...rewardFns]),
    taskOperators: taskOperatorTable(plugins.taskOperators),
    algorithms: definitions.length === 0 ? builtInTables : extendTables(builtInTables, definitions),
    engines: engineTable(engines),
    monitors: options.monitors ?? [],
    openRows: options.openRows,
    pluginFiles: plugins.files,
  };
}

/**
 * Loads the plugins that the options and the configuration file name, then reads the file.
 * @throws ConfigError for plugins, and with every problem of the file
 */
export async function readConfiguration(options: ConfigurationOptions): Promise<Configuration> {
  const { configPath, env, cwd, clock = systemClock, checkNames = true } = options;
  const { overrides, overridesName, text, runName, readsRun = false } = options;
  knowSecretsOf(env ?? process.env);
  const named = await readModuleNames(configPath, options);
  const plugins = [...(options.plugins ?? []), ...named.plugins.map(({ name }) => name)];
  const scorers = [...new Set(named.scorers.map(({ name }) => name))];
  const project = path.dirname(path.resolve(cwd ?? '.', configPath));
  const extensions = await loadExtensions({ ...options, plugins, scorers }, [project]).catch(
    (error: unknown) => {
      const missing = error instanceof ConfigError ? error.details['plugin'] : undefined;
      const place = [...named.plugins, ...named.scorers].find(({ name }) => name === missing);
      throw place ? configError([place.problem((error as ConfigError).message)]) : error;
    },
  );
  const loaded = await loadConfig(configPath, {
    timestamp: readsRun ? undefined : timestamp(clock),
    runName,
    algorithms: extensions.algorithms,
    engines: extensions.engines,
    workflows: checkNames ? extensions.workflows : undefined,
    rewardFns: checkNames ? extensions.rewardFns : undefined,
    taskOperators: checkNames ? extensions.taskOperators : undefined,
    env,
    cwd,
    overrides,
    overridesName,
    text,
  });
  return { ...extensions, loaded };
}
