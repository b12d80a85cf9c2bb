/** Names of an exported model: the display name, and the name in file names. */
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import type { RunFacts } from '@trinity-rft/local';

/**
 * Returns the display name: the given one, otherwise that of the run or folder, converted to a name
 * for Ollama.
 * @throws ConfigError if the given name is blank or has several lines
 */
export function modelName(
  given: string | undefined,
  from: string,
  facts: RunFacts | undefined,
): string {
  if (given === undefined) return ollamaNameOf(folderName(from, facts));
  if (given.trim() !== '' && !/[\p{Cc}\u2028\u2029]/u.test(given)) return given;
  throw new ConfigError(`--name is ${JSON.stringify(given)}. Expected a name of one line.`, {
    code: 'ARGUMENT_INVALID',
  });
}

/**
 * Converts a name to a file name that contains only characters that every file system and registry
 * allows, and does not begin with a dot or hyphen.
 */
export const fileNameOf = (name: string): string =>
  name.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '') || 'model';

/** Matches names that Ollama takes: `NAME`, `OWNER/NAME`, and both with `:TAG`. */
const ollamaName = /^(?:\w[\w-]*\/)?\w[\w.-]*(?::\w[\w.-]*)?$/;

/** Converts a name to a name for Ollama and the shell, in lower case. */
export const ollamaNameOf = (name: string): string =>
  (ollamaName.test(name) ? name : fileNameOf(name)).toLowerCase();

function folderName(from: string, facts: RunFacts | undefined): string {
  const folder = path.resolve(facts?.jobDirectory ?? from);
  // The folder of a training run is PROJECT/NAME.
  const project = facts ? `${path.basename(path.dirname(folder))}-` : '';
  return `${project}${path.basename(folder)}`;
}
