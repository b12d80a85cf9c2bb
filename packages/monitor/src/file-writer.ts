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
  let isClosed = false;
  let descriptor: number | undefined;
  const close = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const open = (): number => {
    mkdirSync(path.dirname(file), { recursive: true });
    const opened = openSync(file, 'a');
    bytes = fstatSync(opened).size;
    return opened;
  };
  const append = (text: string): void => {
    // Lines written after `close` are dropped.
    if (isClosed) return;
    const size = Buffer.byteLength(text);
    if (bytes > 0 && bytes + size > maxFileBytes) {
      close();
      renameSync(file, earlierFile(file));
    }
    // Also opens the file again after a write whose renaming failed.
    descriptor ??= open();
    appendFileSync(descriptor, text);
    bytes += size;
  };
  descriptor = guarded(open);
  return {
    write: (line) => guarded(() => append(`${line}\n`)),
    close: () => {
      isClosed = true;
      close();
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
