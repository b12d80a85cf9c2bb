/** Names of an exported model: the display name, file names and the name for Ollama. */
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import type { RunFacts } from '@trinity-rft/local';

/**
 * Returns the display name: the given name, or else a name derived from the run or folder, in a
 * form that Ollama accepts.
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
 * Converts a name to a file name. It contains only characters that all file systems and registries
 * allow, and does not begin with a dot or hyphen.
 */
export const fileNameOf = (name: string): string =>
  name.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '') || 'model';

/** Matches names that Ollama accepts: `NAME`, `OWNER/NAME`, and both with `:TAG`. */
const ollamaName = /^(?:\w[\w-]*\/)?\w[\w.-]*(?::\w[\w.-]*)?$/;

/**
 * Converts a name to lower case and to a form that Ollama accepts and that needs no quotes in a
 * shell.
 */
export const ollamaNameOf = (name: string): string =>
  (ollamaName.test(name) ? name : fileNameOf(name)).toLowerCase();

function folderName(from: string, facts: RunFacts | undefined): string {
  const folder = path.resolve(facts?.jobDirectory ?? from);
  // The folder of a training run is PROJECT/NAME.
  const project = facts ? `${path.basename(path.dirname(folder))}-` : '';
  return `${project}${path.basename(folder)}`;
}
