/** A text file that lines are appended to. */
import { appendFileSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { MonitorError } from './monitor-error.js';

export interface LineWriter {
  /** Appends the line and a newline before it returns. */
  write(line: string): void;
  close(): void;
}

/**
 * Appends to `file`, which is created with its folder.
 * @throws MonitorError when it cannot be opened or written
 */
export function fileWriter(file: string): LineWriter {
  const guarded = fileGuard(file, 'LOG_FILE');
  let descriptor: number | undefined = guarded(() => {
    mkdirSync(path.dirname(file), { recursive: true });
    return openSync(file, 'a');
  });
  return {
    write: (line) => {
      const open = descriptor;
      // Lines that come after the end of the run are dropped.
      if (open !== undefined) guarded(() => appendFileSync(open, `${line}\n`));
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** Wraps file operations: their errors name the file. */
export function fileGuard(file: string, code: string): <T>(work: () => T) => T {
  return (work) => {
    try {
      return work();
    } catch (cause) {
      throw new MonitorError(
        `${file} could not be written: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
        { code, cause },
      );
    }
  };
}
