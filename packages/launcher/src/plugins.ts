/** A user's modules: every workflow and reward function that the plugin directories export. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';
import { isRewardDefinition, isWorkflowDefinition, type RewardDefinition, type WorkflowDefinition } from '@trinity-rft/workflow';
import { createJiti } from 'jiti';

export interface Plugins {
  readonly workflows: readonly WorkflowDefinition[];
  readonly rewardFns: readonly RewardDefinition[];
}

const modulePattern = /^[^_.].*\.(?:ts|mts|js|mjs)$/;
const notModules = /\.(?:d\.m?ts|(?:test|spec)\.\w+)$/;

/**
 * Loads every module at the top of each directory (TypeScript as is; modules may import each other and packages) and collects
 * what `defineWorkflow` and `defineReward` made. @throws ConfigError naming the directory or file that cannot be loaded
 */
export async function loadPlugins(directories: readonly string[]): Promise<Plugins> {
  const jiti = createJiti(import.meta.url);
  const exported: unknown[] = [];
  for (const directory of directories) {
    for (const file of await modulesOf(directory)) {
      exported.push(...Object.values(await load(jiti, file)));
    }
  }
  // A definition that two modules export is one definition.
  const unique = [...new Set(exported)];
  return { workflows: unique.filter(isWorkflowDefinition), rewardFns: unique.filter(isRewardDefinition) };
}

async function modulesOf(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new ConfigError(`Plugin directory ${directory} cannot be read. Give --plugin-dir a directory that exists.`, { code: 'PLUGIN_DIR', cause });
  });
  return names
    .filter((name) => modulePattern.test(name) && !notModules.test(name))
    .toSorted()
    .map((name) => path.resolve(directory, name));
}

async function load(jiti: ReturnType<typeof createJiti>, file: string): Promise<Record<string, unknown>> {
  try {
    return await jiti.import<Record<string, unknown>>(file);
  } catch (cause) {
    throw new ConfigError(`Plugin ${file} cannot be loaded: ${describeError(cause)}`, { code: 'PLUGIN_LOAD', cause });
  }
}
