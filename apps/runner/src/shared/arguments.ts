/** Errors for command-line arguments, and parsing of numeric options. */
import { ConfigError } from '@trinity-rft/core';
import type { Command } from 'commander';

/** Creates the error for a wrong argument or option. */
export const invalid = (message: string, cause?: unknown): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID', cause });

/**
 * Parses the numeric value of an option.
 * @throws ConfigError when `text` is not a number of at least `least`
 */
export function numberOf(option: string, text: string, least = 0): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && Number.isFinite(value)) return value;
  throw invalid(`${option} is "${text}". Expected a number of at least ${least}.`);
}

/**
 * Parses the integer of an option.
 * @throws ConfigError when `text` is not an integer of at least `least`
 */
export function integerOf(option: string, text: string, least = 0): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && Number.isSafeInteger(value)) return value;
  throw invalid(`${option} is "${text}". Expected a whole number of at least ${least}.`);
}

/**
 * Returns the value of an option, which must be one of several names.
 * @param others further names that the message lists
 * @throws ConfigError for any other value
 */
export function oneOf<T extends string>(
  option: string,
  value: string,
  known: readonly T[],
  others: readonly string[] = [],
): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw invalid(`${option} is "${value}". Expected one of ${[...others, ...known].join(', ')}.`);
}

/**
 * Refuses options without effect. Defaults are not refused.
 * @param when follows "has no effect", such as `with --json`
 * @param names options, such as `--lines`
 * @throws ConfigError if the command line has one of them
 */
export function refuseUnused(command: Command, when: string, ...names: readonly string[]): void {
  const unused = command.options.find(
    (option) =>
      names.includes(option.long ?? '') &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (unused) throw invalid(`${unused.long} has no effect ${when}. Leave it out.`);
}
