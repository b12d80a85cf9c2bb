/**
 * A configuration and the plugins that it may name: those come first, because it is read by what
 * they define.
 */
import {
  builtInTables,
  extendTables,
  type AlgorithmTables,
  type Definition,
} from '@trinity-rft/algorithm';
import { loadConfig, type LoadedConfig, type ParseConfigOptions } from '@trinity-rft/config';
import { systemClock, type Clock } from '@trinity-rft/core';
import { engineTable, type EngineTable } from '../assembly/models/engines.js';
import { loadPlugins, type Plugins } from './plugins.js';

export interface PluginOptions {
  /** Directories whose modules export workflows, reward functions and algorithms. @default none */
  readonly pluginDirs?: readonly string[];
  /** More algorithms and parts of them, for programs. */
  readonly algorithms?: readonly Definition[];
  /** @default the working directory of the process */
  readonly cwd?: string;
}

export interface ConfigurationOptions
  extends PluginOptions, Pick<ParseConfigOptions, 'overrides' | 'overridesName'> {
  /** YAML file. */
  readonly configPath: string;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default the system clock */
  readonly clock?: Clock;
}

/** What plugins and programs add to what is built in. */
export interface Extensions {
  readonly plugins: Plugins;
  /** The built-in ones and those of plugins. */
  readonly algorithms: AlgorithmTables;
  readonly engines: EngineTable;
}

export interface Configuration extends Extensions {
  readonly loaded: LoadedConfig;
}

/** @throws ConfigError for plugins that cannot be loaded or use a name that is taken */
export async function loadExtensions({
  pluginDirs = [],
  algorithms = [],
  cwd,
}: PluginOptions): Promise<Extensions> {
  const plugins = await loadPlugins(pluginDirs, cwd);
  const definitions = [...plugins.algorithms, ...algorithms];
  return {
    plugins,
    algorithms: definitions.length === 0 ? builtInTables : extendTables(builtInTables, definitions),
    engines: engineTable(),
  };
}

/** @throws ConfigError for plugins, and with every problem of the file */
export async function readConfiguration(options: ConfigurationOptions): Promise<Configuration> {
  const { configPath, env, cwd, clock = systemClock, overrides, overridesName } = options;
  const extensions = await loadExtensions(options);
  const loaded = await loadConfig(configPath, {
    timestamp: timestamp(clock),
    algorithms: extensions.algorithms,
    engines: extensions.engines,
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(overrides && { overrides }),
    ...(overridesName !== undefined && { overridesName }),
  });
  return { ...extensions, loaded };
}

/** `20260701093000`, in UTC. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString().replaceAll(/\D/g, '').slice(0, 14);
}
