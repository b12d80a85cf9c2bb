/** Appends lines to a text file. */
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { MonitorError } from './lines/monitor-error.js';

export interface LineWriter {
  /** Appends the line and a newline to the file before it returns. */
  write(line: string): void;
  close(): void;
}

export interface FileWriterOptions {
  /**
   * Maximum size of the file, in bytes. If a line would exceed it, the file is renamed to
   * `<file>.1`, which replaces an older `<file>.1`, and a new file is started.
   * @default no limit
   */
  readonly maxFileBytes?: number;
}

/** Returns the path to which `file` is renamed when it has reached its maximum size. */
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
    const size = Buffer.byteLength(text);
    descriptor ??= open();
    if (bytes > 0 && bytes + size > maxFileBytes) {
      release();
      moveAway(file);
      descriptor = open();
    }
    appendFileSync(descriptor, text);
    bytes += size;
  };
  /**
   * Closes the file. Clears the descriptor first, because its number may be reused for another
   * file.
   */
  const release = (): void => {
    const opened = descriptor;
    descriptor = undefined;
    if (opened !== undefined) closeSync(opened);
  };
  /**
   * Descriptor of the open file. Undefined after {@link release}, and after a failed rename or open
   * until a retry succeeds.
   */
  let descriptor: number | undefined = guarded(open);
  let isClosed = false;
  return {
    write: (line) => {
      // Lines written after `close` are dropped.
      if (!isClosed) guarded(() => append(`${line}\n`));
    },
    close: () => {
      isClosed = true;
      release();
    },
  };
}

/**
 * Renames a file that has reached its maximum size. Ignores a missing file, because a user may have
 * removed it.
 */
function moveAway(file: string): void {
  try {
    renameSync(file, earlierFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Creates a function that runs file operations and adds the name of the file to their errors. */
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
