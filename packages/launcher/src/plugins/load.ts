/**
 * Loads the workflows, reward functions, environments, algorithms and task operators that plugins
 * export.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Definition } from '@trinity-rft/algorithm';
import { isAlgorithmPlugin } from '@trinity-rft/algorithm/internal';
import type { TaskOperatorDefinition } from '@trinity-rft/buffer';
import { isTaskOperator } from '@trinity-rft/buffer/internal';
import { ConfigError, describeError, type RewardFn } from '@trinity-rft/core';
import type { RewardDefinition, WorkflowDefinition } from '@trinity-rft/workflow';
import { fromScorer, type Scorer } from '@trinity-rft/workflow/reward';
import { isRewardDefinition, isWorkflowDefinition } from '@trinity-rft/workflow/internal';
import { createJiti, type Jiti } from 'jiti';
import { type EnvironmentDefinition, isEnvironmentDefinition } from '../outer/outer.js';
import { findPlugin, findPluginDirectory, type FoundPlugin } from './find.js';
import { ownPackages } from './own-packages.js';

export interface Plugins {
  readonly workflows: readonly WorkflowDefinition[];
  readonly rewardFns: readonly RewardDefinition[];
  readonly environments: readonly EnvironmentDefinition[];
  /** Algorithms and their parts. */
  readonly algorithms: readonly Definition[];
  readonly taskOperators: readonly TaskOperatorDefinition[];
  /** Returns the files that define something, or a part of an algorithm, with this name. */
  readonly filesOf: (name: string) => readonly string[];
  /** The modules that were loaded, and the files next to them that they may import. */
  readonly files: readonly string[];
}

export interface PluginOptions {
  /** npm packages, directories or modules that export definitions. @default no plugins */
  readonly plugins?: readonly string[];
  /** Directories whose modules are all loaded. @default no directories */
  readonly pluginDirs?: readonly string[];
  /**
   * Scorers as `FILE#EXPORT`. Each becomes a reward function with this string as its name.
   * @default no scorers
   */
  readonly scorers?: readonly string[];
  /** Directory that relative paths start from. @default process.cwd() */
  readonly cwd?: string;
}

const algorithmKinds = {
  'trinity-rft.algorithm': 'algorithm',
  'trinity-rft.advantage': 'advantage function',
  'trinity-rft.policy-loss': 'policy loss',
  'trinity-rft.operator': 'operator',
} as const satisfies Readonly<Record<Definition['kind'], string>>;

/**
 * Loads the entry module of each package and every module at the top level of each directory.
 * Collects the exports that were created with `defineWorkflow`, `defineReward`,
 * `defineEnvironment`, `defineTaskOperator`, `defineAlgorithm` or a function for parts of
 * algorithms. TypeScript needs no build. Modules may import each other and packages. In a
 * directory, files whose name begins with `_` or `.`, tests and declarations are skipped. Plugins
 * cannot define engines; a program passes them in `ExtensionOptions.engines`.
 * @param projects additional folders in whose `node_modules` packages are looked up, after `cwd`
 * @throws ConfigError naming the plugin that is missing, cannot be loaded or defines nothing, or
 * the files that use the same name
 */
export async function loadPlugins(
  { plugins = [], pluginDirs = [], scorers = [], cwd = process.cwd() }: PluginOptions,
  projects: readonly string[] = [],
): Promise<Plugins> {
  const jiti = createJiti(import.meta.url, { virtualModules: ownPackages() });
  const directories = new Set(pluginDirs.map((each) => path.resolve(cwd, each)));
  const found = [
    ...(await Promise.all([...directories].map(findPluginDirectory))),
    ...(await Promise.all(plugins.map((each) => findPlugin(each, { jiti, cwd, projects })))),
  ];
  /** File in which each definition was first found, keyed by the definition. */
  const definitions = new Map<unknown, string>();
  for (const plugin of found)
    for (const [value, file] of await definitionsOf(jiti, plugin))
      if (!definitions.has(value)) definitions.set(value, file);
  const scored: Awaited<ReturnType<typeof loadScorer>>[] = [];
  for (const each of scorers) scored.push(await loadScorer(jiti, each, cwd));
  return {
    filesOf: (name) =>
      [...definitions].flatMap(([value, file]) => (isNamed(value, name) ? file : [])),
    files: [
      ...new Set([
        ...found.flatMap(({ files, helpers = [] }) => [...files, ...helpers]),
        ...scored.map(({ file }) => file),
      ]),
    ],
    workflows: distinct('workflow', definitions, isWorkflowDefinition),
    rewardFns: [
      ...distinct('reward function', definitions, isRewardDefinition),
      ...scored.map(({ definition }) => definition),
    ],
    environments: distinct('environment', definitions, isEnvironmentDefinition),
    taskOperators: distinct('task operator', definitions, isTaskOperator),
    algorithms: Object.entries(algorithmKinds).flatMap(([kind, word]) =>
      distinct(
        word,
        definitions,
        (value): value is Definition => isAlgorithmPlugin(value) && value.kind === kind,
      ),
    ),
  };
}

/**
 * Loads a scorer as a reward function.
 * @throws ConfigError if the file does not exist, or its export is not a scorer
 */
async function loadScorer(
  jiti: Jiti,
  name: string,
  cwd: string,
): Promise<{ readonly file: string; readonly definition: RewardDefinition }> {
  const [place = '', exported = ''] = name.split(/#(?=\w+$)/);
  const file = path.resolve(cwd, place);
  const refuse = (what: string, cause?: unknown): ConfigError =>
    new ConfigError(`The scorer ${name} ${what}`, {
      code: 'SCORER_LOAD',
      details: { plugin: name },
      cause,
    });
  if (!existsSync(file)) throw refuse(`is in no file: there is no ${file}.`);
  const module = await load(jiti, file);
  const scorer = module[exported];
  if (isRewardDefinition(scorer)) return { file, definition: { ...scorer, name } };
  if (typeof scorer !== 'function' && (typeof scorer !== 'object' || scorer === null))
    throw refuse(`is not there: ${file} exports ${Object.keys(module).join(', ') || 'nothing'}.`);
  try {
    const rewardFn = fromScorer(scorer as Scorer, { name: exported });
    const create = (): RewardFn => rewardFn;
    return { file, definition: { kind: 'trinity-rft.reward', name, create } };
  } catch (error) {
    throw refuse(`cannot be used: ${describeError(error)}`, error);
  }
}

/**
 * Loads the definitions that the modules of a plugin export.
 * @throws ConfigError if no module of the plugin exports a definition
 */
async function definitionsOf(
  jiti: Jiti,
  { title, files, missing }: FoundPlugin,
): Promise<readonly (readonly [value: unknown, file: string])[]> {
  const exported: (readonly [name: string, value: unknown, file: string])[] = [];
  const isMissing = (cause?: unknown): ConfigError =>
    new ConfigError(
      `${title}: the entry in its package.json, ${missing}, does not exist. If it is the result of a build, build the package (npm run build).`,
      { code: 'PLUGIN_LOAD', cause },
    );
  for (const file of files) {
    const loaded = await load(jiti, file).catch((cause: unknown) => {
      // Files beside the entry, such as the configuration of a bundler, are no plugin.
      throw missing === undefined ? cause : isMissing(cause);
    });
    for (const [name, value] of Object.entries(loaded)) exported.push([name, value, file]);
  }
  const definitions = exported.filter(([, value]) => isDefinition(value));
  if (definitions.length > 0) return definitions.map(([, value, file]) => [value, file]);
  if (missing !== undefined) throw isMissing();
  const names = exported.map(([name]) => name).join(', ');
  const has =
    files.length === 0
      ? 'has no module at its top level'
      : `exports ${names === '' ? 'nothing' : names}, and none of it is a workflow, a reward function, an environment, a task operator or an algorithm`;
  throw new ConfigError(
    `${title} ${has}. Export what defineWorkflow, defineReward, defineEnvironment, defineTaskOperator or defineAlgorithm returns.`,
    { code: 'PLUGIN_EMPTY' },
  );
}

const isDefinition = (value: unknown): boolean =>
  isWorkflowDefinition(value) ||
  isRewardDefinition(value) ||
  isEnvironmentDefinition(value) ||
  isTaskOperator(value) ||
  isAlgorithmPlugin(value);

interface Named {
  readonly name: string;
  /** Parts of an algorithm. @default no parts */
  readonly parts?: readonly Named[];
}

const isNamed = (value: unknown, name: string): boolean => {
  const { name: own, parts = [] } = value as Named;
  return own === name || parts.some((part) => part.name === name);
};

/** Milliseconds after which a module that is still loading is named. */
const silentMs = 5000;

async function load(jiti: Jiti, file: string): Promise<Record<string, unknown>> {
  const stuck = Promise.withResolvers<never>();
  // Node is about to end, because the module awaits something that no timer or socket can settle.
  const end = (): void => stuck.reject(new Error('a top-level await of it never settles'));
  const notice = setTimeout(
    () => process.emitWarning(`Plugin ${file} is still loading.`),
    silentMs,
  ).unref();
  process.once('beforeExit', end);
  try {
    return await Promise.race([jiti.import<Record<string, unknown>>(file), stuck.promise]);
  } catch (cause) {
    const why = describeError(cause);
    const advice = /Cannot find (?:module|package) '[^./'\\][^:'\\]*'/.test(why)
      ? '\nIf it is a package, install it in your project. Import a file by its relative path: aliases of tsconfig.json are not followed.'
      : '';
    throw new ConfigError(`Plugin ${file} cannot be loaded: ${why}${advice}`, {
      code: 'PLUGIN_LOAD',
      cause,
    });
  } finally {
    clearTimeout(notice);
    process.off('beforeExit', end);
  }
}

/**
 * Returns the definitions of one kind. @throws ConfigError naming both files when two have the same
 * name
 */
function distinct<T extends { readonly name: string }>(
  kind: string,
  definitions: ReadonlyMap<unknown, string>,
  is: (value: unknown) => value is T,
): readonly T[] {
  const files = new Map<string, string>();
  return [...definitions].flatMap(([value, file]) => {
    if (!is(value)) return [];
    const other = files.get(value.name);
    if (other !== undefined) {
      const who =
        other === file
          ? `${file} defines a ${kind} named "${value.name}" twice`
          : `Two plugins define a ${kind} named "${value.name}": ${other} and ${file}`;
      throw new ConfigError(`${who}. Give one of them another name.`, { code: 'DUPLICATE_NAME' });
    }
    files.set(value.name, file);
    return [value];
  });
}
