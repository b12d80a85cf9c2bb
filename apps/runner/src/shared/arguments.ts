/** Errors for command-line arguments, and parsing of numeric options. */
import { ConfigError } from '@trinity-rft/core';

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
