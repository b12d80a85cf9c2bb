import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError, type ConfigError } from '@trinity-rft/core';
import { invalid } from './arguments.js';

/**
 * Checks that the file can be written, for commands that write it only after long work. Neither
 * creates nor changes anything.
 * @param option the option that names the file, for messages
 * @throws ConfigError when the file cannot be written
 */
export async function assertOutput(option: string, file: string): Promise<void> {
  await assertFileName(option, file);
  try {
    const isThere = await stat(file).catch(() => undefined);
    await (isThere ? access(file, constants.W_OK) : assertFolder(path.dirname(path.resolve(file))));
  } catch (cause) {
    throw unwritable(option, file, describeError(cause), cause);
  }
}

/**
 * Checks that the name is neither `-` nor that of a folder, for a file that is written beside its
 * place and then moved there.
 * @param option the option that names the file, for messages
 * @throws ConfigError when no file of this name can be written
 */
export async function assertFileName(option: string, file: string): Promise<void> {
  if (file === '-') throw unwritable(option, file, 'standard output is not supported');
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw unwritable(option, file, 'it is a folder');
}

/** @throws the error of the file system when the folder is not writable and cannot be created */
async function assertFolder(folder: string): Promise<void> {
  try {
    // With the separator, a file in place of a folder is an error.
    await access(`${folder}${path.sep}`, constants.W_OK);
  } catch (error) {
    const parent = path.dirname(folder);
    if ((error as { readonly code?: unknown }).code !== 'ENOENT' || parent === folder) throw error;
    await assertFolder(parent);
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
  await assertFileName(option, file);
  try {
    await mkdir(path.dirname(path.resolve(file)), { recursive: true });
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
