/** Writes a file row by row. The file appears under its name only when it is complete. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
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
 * Opens a temporary file beside `file`, which `finish` renames to `file`.
 * @throws ConfigError if the file cannot be written
 */
export async function createRowWriter(file: string): Promise<RowWriter> {
  const draft = `${file}.partial-${process.pid}`;
  const handle = await attempt(file, async () => {
    await mkdir(path.dirname(path.resolve(file)), { recursive: true });
    return open(draft, 'w');
  });
  let batch: string[] = [];
  let length = 0;
  let isOpen = true;
  const flush = async (): Promise<void> => {
    const text = batch.join('');
    [batch, length] = [[], 0];
    if (text !== '') await attempt(file, () => handle.appendFile(text));
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
      await attempt(file, () => rename(draft, file));
    },
    async close() {
      await end();
      await rm(draft, { force: true });
    },
  };
}

async function attempt<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new ConfigError(
      `-o is "${file}", which cannot be written: ${describeError(cause)}. Name a file in a folder that this process may write.`,
      { code: 'ARGUMENT_INVALID', cause },
    );
  }
}
