/**
 * Builds the configuration of a training run by merging the arguments into a configuration file or,
 * if there is none, into AgentScope's defaults.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { builtInTables, extendTables, type Definition } from '@trinity-rft/algorithm';
import { isSecretKey, parseConfig, type LoadedConfig } from '@trinity-rft/config';
import { ConfigError, describeError, type Clock, systemClock } from '@trinity-rft/core';
import { isTree, mergeTrees, redactText, timestamp } from '@trinity-rft/core/support';
import { engineTable } from '@trinity-rft/launcher/parts';
import { parse, stringify } from 'yaml';
import { defaultTree, overridesOf, type ConfigTree, type TuneSettings } from './tree.js';

export interface PlanSettings extends TuneSettings {
  /**
   * Path of a YAML configuration file. The arguments override its keys, except those that are set
   * within its stages.
   */
  readonly configPath?: string;
  /**
   * Definitions of custom algorithms and of their parts, which `algorithm` or the file may name.
   * @default []
   */
  readonly algorithms?: readonly Definition[];
  /**
   * Environment variables to which `${oc.env:NAME}` in the file refers. @default the environment of
   * the process
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Folder that relative paths start from. @default the working directory of the process */
  readonly cwd?: string;
  /** Clock for timestamps. @default the system clock */
  readonly clock?: Clock;
}

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

export interface Plan {
  readonly loaded: LoadedConfig;
  /** Configuration tree of the file, with the arguments merged into it. */
  readonly tree: ConfigTree;
}

/**
 * Builds and validates the configuration of a training run.
 * @throws ConfigError that lists every problem with its file, line and column, or with the name in
 * `caller` for problems in arguments
 */
export function plan(
  caller: string,
  settings: PlanSettings,
  file = readConfigFile(settings),
): Plan {
  const { clock = systemClock, env, cwd, algorithms = [] } = settings;
  if (!file) assertComplete(caller, settings);
  const now = timestamp(clock);
  const inFile = file ? plainTree(file.text) : {};
  const overrides = overridesOf(settings, inFile);
  const base = file ? inFile : defaultTree(now);
  const tree = mergeTrees(base, overrides);
  const loaded = parseConfig(file?.text ?? '{}', {
    file: file?.path ?? caller,
    overrides: file ? overrides : tree,
    overridesName: caller,
    timestamp: now,
    engines: engineTable(),
    algorithms: algorithms.length === 0 ? builtInTables : extendTables(builtInTables, algorithms),
    env,
    cwd,
  });
  return { loaded, tree };
}

/**
 * Returns the configuration as YAML for `trinity run`, to which a plugin that defines the workflow
 * must be passed. Each secret is replaced with an environment variable named after its path, such
 * as `MONITOR_MONITOR_ARGS_API_KEY`.
 */
export function toYaml(settings: PlanSettings): string {
  return stringify(withoutSecrets(plan('toYaml()', settings).tree), { lineWidth: 0 });
}

export function readConfigFile({
  configPath,
  cwd = process.cwd(),
}: PlanSettings): ConfigFile | undefined {
  if (configPath === undefined) return undefined;
  try {
    return { path: configPath, text: readFileSync(path.resolve(cwd, configPath), 'utf8') };
  } catch (cause) {
    throw new ConfigError(
      `${configPath} cannot be read: ${describeError(cause)}. Relative paths start at ${cwd}.`,
      { code: 'CONFIG_UNREADABLE', cause },
    );
  }
}

function assertComplete(caller: string, { trainDataset, model }: TuneSettings): void {
  const missing = [...(trainDataset ? [] : ['trainDataset']), ...(model ? [] : ['model'])];
  if (missing.length === 0) return;
  throw new ConfigError(
    `${caller} needs ${missing.join(' and ')}. ` +
      `Pass ${missing.length === 1 ? 'it' : 'them'}, or configPath.`,
    { code: 'ARGUMENTS_MISSING' },
  );
}

/**
 * Parses YAML. On syntax errors, returns an empty tree, because parseConfig reports them with their
 * positions.
 */
function plainTree(text: string): ConfigTree {
  try {
    const tree: unknown = parse(text, { merge: true });
    return isTree(tree) ? tree : {};
  } catch {
    return {};
  }
}

/**
 * Replaces each secret in the tree with an environment variable named after its path. A value is a
 * secret if its key is a name for secrets, or if it is a string that contains one, such as a URL
 * with a password.
 */
function withoutSecrets(value: unknown, path: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item, i) => withoutSecrets(item, [...path, `${i}`]));
  if (isTree(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, [...path, key])]),
    );
  return isSecret(value, path) ? `\${oc.env:${variableOf(path)}}` : value;
}

function isSecret(value: unknown, path: readonly string[]): boolean {
  if (typeof value !== 'string') return typeof value === 'number' && path.some(isSecretKey);
  if (value.startsWith('${')) return false;
  return path.some(isSecretKey) || (!/\s/.test(value) && redactText(value) !== value);
}

const variableOf = (path: readonly string[]): string =>
  path.join('_').replaceAll(/\W/g, '_').toUpperCase();
