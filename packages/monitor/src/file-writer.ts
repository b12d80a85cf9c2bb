/** Appends lines to a text file. */
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { MonitorError } from './lines/monitor-error.js';

export interface LineWriter {
  /** Appends the line and a newline synchronously. */
  write(line: string): void;
  close(): void;
}

export interface FileWriterOptions {
  /**
   * Maximum size in bytes. A file that would exceed this size is renamed to `<file>.1`, which
   * replaces an older `<file>.1`, and a new file is begun.
   * @default no limit
   */
  readonly maxFileBytes?: number;
}

/** Returns the path to which a full `file` is renamed. */
export const earlierFile = (file: string): string => `${file}.1`;

/**
 * Creates a writer that appends to `file`. The file and its folder are created if necessary.
 * @throws MonitorError when the file cannot be opened or written
 */
export function fileWriter(
  file: string,
  { maxFileBytes = Infinity }: FileWriterOptions = {},
): LineWriter {
  const guarded = fileGuard(file, 'LOG_FILE');
  let bytes = 0;
  const open = (): number => {
    mkdirSync(path.dirname(file), { recursive: true });
    const opened = openSync(file, 'a');
    bytes = fstatSync(opened).size;
    return opened;
  };
  const append = (text: string): void => {
    // Lines written after `close` are dropped.
    if (descriptor === undefined) return;
    const size = Buffer.byteLength(text);
    if (bytes > 0 && bytes + size > maxFileBytes) {
      closeSync(descriptor);
      renameSync(file, earlierFile(file));
      descriptor = open();
    }
    appendFileSync(descriptor, text);
    bytes += size;
  };
  let descriptor: number | undefined = guarded(open);
  return {
    write: (line) => guarded(() => append(`${line}\n`)),
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** Wraps file operations, so that their errors name the file. */
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
