/** Writes a file row by row. A regular file appears under its name only when it is complete. */
import { mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

export interface RowWriter {
  write(line: string): Promise<void>;
  /** Moves the complete file into place, unless it is a pipe or a device. */
  finish(): Promise<void>;
  /** Deletes an unfinished file. */
  close(): Promise<void>;
}

/** Number of characters that are collected before a write. */
const batchLength = 2 ** 20;

/**
 * Opens a temporary file beside `file`, which `finish` renames to `file`, or to the file to which it
 * links. Opens a pipe or a device itself.
 * @param option the option that names the file, for messages
 * @throws ConfigError if the file cannot be written
 */
export async function createRowWriter(option: string, file: string): Promise<RowWriter> {
  const attempt = attemptFor(option, file);
  const { target, draft, handle } = await attempt(async () => {
    const found = await stat(file).catch(ifMissing);
    if (found && !found.isFile())
      return { target: file, draft: file, handle: await open(file, 'w') };
    const target = await targetOf(path.resolve(file));
    const draft = `${target}.partial-${process.pid}`;
    await mkdir(path.dirname(target), { recursive: true });
    return { target, draft, handle: await open(draft, 'w') };
  });
  let batch: string[] = [];
  let length = 0;
  let isOpen = true;
  const flush = async (): Promise<void> => {
    const text = batch.join('');
    [batch, length] = [[], 0];
    if (text !== '') await attempt(() => handle.appendFile(text));
  };
  const end = async (): Promise<void> => {
    if (isOpen) await handle.close();
    isOpen = false;
  };
  return {
    async write(line) {
      batch.push(line, '\n');
      length += line.length;
      if (length > batchLength) await flush();
    },
    async finish() {
      await flush();
      await end();
      if (draft !== target) await attempt(() => rename(draft, target));
    },
    async close() {
      await end();
      if (draft !== target) await rm(draft, { force: true });
    },
  };
}

/** Follows the links at the end of a path, also to a file that does not exist. */
export async function targetOf(file: string): Promise<string> {
  const link = await readlink(file).catch(() => undefined);
  if (link === undefined) return file;
  return targetOf(path.resolve(await realpath(path.dirname(file)), link));
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

const attemptFor =
  (option: string, file: string) =>
  async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      throw new ConfigError(
        `${option} is "${file}", which cannot be written: ${describeError(cause)}. Name a file in a folder that this process may write.`,
        { code: 'ARGUMENT_INVALID', cause },
      );
    }
  };
