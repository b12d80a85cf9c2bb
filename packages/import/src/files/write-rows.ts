/** Writes a file row by row. The file appears under its name only when it is complete. */
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, describeError } from '@trinity-rft/core';

export interface RowWriter {
  write(line: string): Promise<void>;
  /** Moves the complete file into place. */
  finish(): Promise<void>;
  /** Deletes an unfinished file. */
  close(): Promise<void>;
}

/** Number of characters that are collected before a write. */
const batchLength = 2 ** 20;

/**
 * Opens a temporary file beside `file`, which `finish` renames to `file`, or to the file to which it
 * links.
 * @param option the option that names the file, for messages
 * @throws ConfigError if the file cannot be written, or exists and is a pipe, a device, or a link
 * that leads nowhere
 */
export async function createRowWriter(option: string, file: string): Promise<RowWriter> {
  const attempt = attemptFor(option, file);
  const target = await realPathOf(file);
  const found = await lstat(target).catch(() => undefined);
  if (found && !found.isFile()) {
    const fault = found.isSymbolicLink()
      ? 'a link that leads to no file. Create the file or name'
      : 'no regular file. Name';
    throw new ConfigError(`${option} is "${file}", which is ${fault} another file to write.`, {
      code: 'ARGUMENT_INVALID',
    });
  }
  const draft = `${target}.partial-${process.pid}`;
  const handle = await attempt(async () => {
    await mkdir(path.dirname(target), { recursive: true });
    return open(draft, 'w');
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
      await attempt(() => rename(draft, target));
    },
    async close() {
      await end();
      await rm(draft, { force: true });
    },
  };
}

/**
 * Returns the absolute path without links. Those of a file that does not exist are followed as far as
 * its folders do.
 */
export async function realPathOf(file: string): Promise<string> {
  const full = path.resolve(file);
  try {
    return await realpath(full);
  } catch {
    const folder = path.dirname(full);
    return folder === full ? full : path.join(await realPathOf(folder), path.basename(full));
  }
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
