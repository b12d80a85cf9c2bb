/**
 * The configuration of a run: arguments laid over a file, or over Trinity's defaults for agents.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { builtInTables, extendTables, type Definition } from '@trinity-rft/algorithm';
import { parseConfig, type LoadedConfig } from '@trinity-rft/config';
import { ConfigError, describeError, systemClock, type Clock } from '@trinity-rft/core';
import { engineTable, timestamp } from '@trinity-rft/launcher';
import { parse, stringify } from 'yaml';
import { defaultTree, overridesOf, type ConfigTree, type TuneSettings } from './tree.js';

export interface PlanSettings extends TuneSettings {
  /**
   * YAML file; arguments that are given override it, key by key. Stages of the file keep what they
   * set themselves.
   */
  readonly configPath?: string | undefined;
  /**
   * Algorithms of your own, and parts of them, which `algorithm` or the file may name.
   * @default none
   */
  readonly algorithms?: readonly Definition[] | undefined;
  /** What `${oc.env:...}` sees. @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** What relative paths start from. @default the working directory of the process */
  readonly cwd?: string | undefined;
  /** @default the system clock */
  readonly clock?: Clock | undefined;
}

/** A file that was read. */
export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

export interface Plan {
  readonly loaded: LoadedConfig;
  /** What is read: file and arguments together. */
  readonly tree: ConfigTree;
}

/**
 * @throws ConfigError with every problem: file, line and column of what the file says, `caller` for
 * what the arguments say
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
  const tree = layOver(base, overrides);
  const loaded = parseConfig(file?.text ?? '{}', {
    file: file?.path ?? caller,
    overrides: file ? overrides : tree,
    overridesName: caller,
    timestamp: now,
    engines: engineTable(),
    algorithms: algorithms.length === 0 ? builtInTables : extendTables(builtInTables, algorithms),
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
  });
  return { loaded, tree };
}

/**
 * The configuration as a file for `trinity run`, whose plugin must then define the workflow. Keys
 * of services are left out.
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
      {
        code: 'CONFIG_UNREADABLE',
        cause,
      },
    );
  }
}

function assertComplete(caller: string, { trainDataset, model }: TuneSettings): void {
  const missing = [...(trainDataset ? [] : ['trainDataset']), ...(model ? [] : ['model'])];
  if (missing.length === 0) return;
  throw new ConfigError(
    `${caller} lacks ${missing.join(' and ')}. Pass ${missing.length === 1 ? 'it' : 'them'}, or configPath.`,
    {
      code: 'ARGUMENTS_MISSING',
    },
  );
}

/** Mistakes of the text are told by the parser of configurations, with their places. */
function plainTree(text: string): ConfigTree {
  try {
    const tree: unknown = parse(text, { merge: true });
    return isTree(tree) ? tree : {};
  } catch {
    return {};
  }
}

function layOver(base: ConfigTree, over: ConfigTree): ConfigTree {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = result[key];
    result[key] = isTree(old) && isTree(value) ? layOver(old, value) : value;
  }
  return result;
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      key === 'api_key' && !String(item).startsWith('${')
        ? [[key, '${oc.env:OPENAI_API_KEY}']]
        : [[key, withoutSecrets(item)]],
    ),
  );
}

const isTree = (value: unknown): value is ConfigTree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
