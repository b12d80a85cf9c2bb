/** Workflows, reward functions and algorithms that the modules of plugin directories export. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import * as algorithm from '@trinity-rft/algorithm';
import { isAlgorithmPlugin } from '@trinity-rft/algorithm/internal';
import * as core from '@trinity-rft/core';
import { ConfigError, describeError } from '@trinity-rft/core';
import * as reward from '@trinity-rft/reward';
import * as workflow from '@trinity-rft/workflow';
import { isRewardDefinition, isWorkflowDefinition } from '@trinity-rft/workflow/internal';
import { createJiti } from 'jiti';

export interface Plugins {
  readonly workflows: readonly workflow.WorkflowDefinition[];
  readonly rewardFns: readonly workflow.RewardDefinition[];
  /** Algorithms and their parts. */
  readonly algorithms: readonly algorithm.Definition[];
}

/**
 * Modules of plugins get this program's own copies of these packages. A plugin directory therefore
 * needs no `node_modules` for them, whether the program runs from sources or as installed.
 */
const virtualModules = {
  '@trinity-rft/algorithm': algorithm,
  '@trinity-rft/core': core,
  '@trinity-rft/reward': reward,
  '@trinity-rft/workflow': workflow,
};

const algorithmKinds = {
  'trinity-rft.algorithm': 'algorithm',
  'trinity-rft.advantage': 'advantage function',
  'trinity-rft.policy-loss': 'policy loss',
  'trinity-rft.operator': 'operator',
} as const satisfies Readonly<Record<algorithm.Definition['kind'], string>>;

const modulePattern = /^[^_.].*\.(?:ts|mts|js|mjs)$/;
const notModules = /\.(?:d\.m?ts|(?:test|spec)\.\w+)$/;

/**
 * Loads every module at the top level of each directory and collects the exports that
 * `defineWorkflow`, `defineReward`, `defineAlgorithm` or a function for its parts created.
 * TypeScript needs no build; modules may import each other and packages. Relative directories start
 * at `cwd`. Files whose name begins with `_` or `.`, tests and declarations are skipped. Engines
 * cannot be plugins: a program passes them in `ExtensionOptions.engines`.
 * @throws ConfigError naming the directory or file that cannot be loaded, or the two files that use
 * one name
 */
export async function loadPlugins(
  directories: readonly string[],
  cwd = process.cwd(),
): Promise<Plugins> {
  const jiti = createJiti(import.meta.url, { virtualModules });
  /** Each with the file that exports it first: several modules may export one definition. */
  const definitions = new Map<unknown, string>();
  for (const directory of new Set(directories.map((each) => path.resolve(cwd, each)))) {
    for (const file of await modulesOf(directory)) {
      for (const value of Object.values(await load(jiti, file))) {
        if (!definitions.has(value)) definitions.set(value, file);
      }
    }
  }
  return {
    workflows: distinct('workflow', definitions, isWorkflowDefinition),
    rewardFns: distinct('reward function', definitions, isRewardDefinition),
    algorithms: Object.entries(algorithmKinds).flatMap(([kind, word]) =>
      distinct(
        word,
        definitions,
        (value): value is algorithm.Definition => isAlgorithmPlugin(value) && value.kind === kind,
      ),
    ),
  };
}

async function modulesOf(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new ConfigError(
      `Plugin directory ${directory} cannot be read. Give --plugin-dir a directory that exists.`,
      { code: 'PLUGIN_DIR', cause },
    );
  });
  return names
    .filter((name) => modulePattern.test(name) && !notModules.test(name))
    .toSorted()
    .map((name) => path.join(directory, name));
}

async function load(
  jiti: ReturnType<typeof createJiti>,
  file: string,
): Promise<Record<string, unknown>> {
  try {
    return await jiti.import<Record<string, unknown>>(file);
  } catch (cause) {
    throw new ConfigError(`Plugin ${file} cannot be loaded: ${describeError(cause)}`, {
      code: 'PLUGIN_LOAD',
      cause,
    });
  }
}

/** The definitions of one kind. @throws ConfigError naming both files when two have one name */
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
      throw new ConfigError(
        `Two plugins define a ${kind} named "${value.name}": ${other} and ${file}. Give one of them another name.`,
        { code: 'DUPLICATE_NAME' },
      );
    }
    files.set(value.name, file);
    return [value];
  });
}
