import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError, type ConfigError } from '@trinity-rft/core';
import { invalid } from './arguments.js';

/**
 * Creates the folders of the path, and checks that the file can be written, for commands that write
 * it only after long work. Leaves the file as it is.
 * @param option the option that names the file, for messages
 * @throws ConfigError when the file cannot be written
 */
export async function assertOutput(option: string, file: string): Promise<void> {
  if (file === '-') throw unwritable(option, file, 'standard output is not supported');
  const folder = path.dirname(path.resolve(file));
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw unwritable(option, file, 'it is a folder');
  try {
    await mkdir(folder, { recursive: true });
    await access(found ? file : folder, constants.W_OK);
  } catch (cause) {
    throw unwritable(option, file, describeError(cause), cause);
  }
}

/**
 * Writes the file, and creates the folders of its path.
 * @param option the option that names the file, for messages
 * @throws ConfigError when the file cannot be written
 */
export async function writeOutput(
  option: string,
  file: string,
  contents: string | Uint8Array,
): Promise<void> {
  await assertOutput(option, file);
  try {
    await writeFile(file, contents);
  } catch (cause) {
    throw unwritable(option, file, describeError(cause), cause);
  }
}

const unwritable = (option: string, file: string, why: string, cause?: unknown): ConfigError =>
  invalid(
    `${option} is "${file}", which cannot be written: ${why}. Name a file in a folder that this process may write.`,
    cause,
  );
