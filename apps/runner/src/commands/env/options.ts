/** Options of the commands for one environment. */
import type { SplitName } from '@trinity-rft/environment';
import { silentLogger, type Logger } from '@trinity-rft/core';
import { redactText, tryJson } from '@trinity-rft/core/support';
import type { Command } from 'commander';
import { pluginsOf, withPlugins, type PluginOptions } from '../../shared/options.js';
import { integerOf, invalid, numberOf, oneOf } from '../../shared/arguments.js';

export interface WorldArguments extends PluginOptions {
  readonly args?: string;
  readonly timeout?: string;
}

export interface TaskArguments extends WorldArguments {
  readonly split: string;
  readonly seed: string;
}

/** Adds the options for the environment's arguments, its timeout and plugins. */
export const withWorld = (command: Command): Command =>
  withPlugins(command)
    .option('--args <json>', 'its environment_args, such as \'{"level": 1}\'')
    .option(
      '--timeout <seconds>',
      'how long it may take to answer. Default: 60, and 300 to begin an episode',
    );

/**
 * Adds the options of {@link withWorld}, and those for the split and the seed of generated tasks.
 */
export const withTasks = (command: Command): Command =>
  withWorld(command)
    .option('--split <name>', 'train or eval, which have no task in common', 'train')
    .option('--seed <number>', 'another seed makes up other tasks', '0');

const warn = (message: string): void => void process.stderr.write(`${redactText(message)}\n`);

/** Logger that writes warnings and errors to standard error, and discards other messages. */
const logger: Logger = { ...silentLogger, warn, error: warn };

/**
 * Returns the options for opening the environment that the command line names.
 * @throws ConfigError for invalid JSON or an invalid timeout
 */
export const worldOf = (name: string, given: WorldArguments) => ({
  name,
  args: given.args === undefined ? {} : objectOf('--args', given.args),
  ...(given.timeout !== undefined && { timeoutMs: 1000 * numberOf('--timeout', given.timeout) }),
  limitName: '--timeout',
  logger,
  ...pluginsOf(given),
});

/**
 * Parses the JSON object of an option.
 * @throws ConfigError if the text is not a JSON object
 */
export function objectOf(option: string, text: string): Readonly<Record<string, unknown>> {
  const value = tryJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw invalid(`${option} is ${text}. Expected a JSON object, such as '{"level": 1}'.`);
}

/**
 * Returns the split that `--split` names.
 * @throws ConfigError for an unknown split
 */
export const splitOf = ({ split }: TaskArguments): SplitName =>
  oneOf('--split', split, ['train', 'eval']);

/**
 * Parses `--seed`.
 * @throws ConfigError if it is not an integer of at least 0
 */
export const seedOf = ({ seed }: Pick<TaskArguments, 'seed'>): number => integerOf('--seed', seed);
