/** Errors and numbers of arguments on the command line. */
import { ConfigError } from '@trinity-rft/core';

/** Creates the error for a wrong argument or option. */
export const invalid = (message: string, cause?: unknown): ConfigError =>
  new ConfigError(message, { code: 'ARGUMENT_INVALID', cause });

/**
 * Parses the number of an option.
 * @throws ConfigError when `text` is not a number of at least `least`
 */
export function numberOf(option: string, text: string, least = 0): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && Number.isFinite(value)) return value;
  throw invalid(`${option} is "${text}". Expected a number of at least ${least}.`);
}
