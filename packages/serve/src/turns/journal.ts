/**
 * Stores calls that are not yet in the database, in two files next to the database. These calls are
 * kept even if the process ends.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writevSync,
} from 'node:fs';
import { describeError, BufferError } from '@trinity-rft/core';
import { readFrames, toFrame, type Frame, type FramesRead } from './journal-frame.js';
import type { EncodedCall } from './sqlite.js';

export interface Journal {
  /**
   * Calls that an earlier process left in the files, oldest first. Some of them may already be in
   * the database.
   */
  readonly left: readonly EncodedCall[];
  /**
   * Description of the damage that was found in the files, or undefined if all of their content
   * could be read.
   */
  readonly damage: Damage | undefined;
  /** Empties the files. May only be called when all calls in the files are in the database. */
  clear(): void;
  /**
   * Appends a call. Once `append` returns, the call is kept even if the process is killed. Takes
   * only a few microseconds, because it does not wait for the disk.
   * @throws BufferError; in this case nothing was written
   */
  append(call: EncodedCall): void;
  /**
   * Reports that the next `count` calls, in the order in which they were appended, are in the
   * database.
   */
  stored(count: number): void;
  /** Closes the files, and deletes them if all their calls are in the database. */
  close(): void;
}

/**
 * Damage to the journal files. {@link Journal.clear} does not delete the copies of the damaged
 * files.
 */
export interface Damage {
  readonly bytes: number;
  /**
   * Number of missing calls, according to gaps between the frame numbers. Calls missing before the
   * first or after the last frame are not counted.
   */
  readonly missing: number;
  readonly copies: readonly string[];
}

interface Segment {
  readonly path: string;
  readonly file: number;
  /** Size in bytes of the complete frames in the file. */
  size: number;
  /** Number of calls in this file that are not in the database yet. */
  pending: number;
}

/**
 * Size in bytes above which the journal switches to the other file. It does so only when all calls
 * in the other file are in the database.
 */
const maxSegmentSize = 2 ** 20;

/**
 * Opens the journal files next to a database.
 * @throws BufferError if the files cannot be opened
 */
export function openJournal(databasePath: string): Journal {
  const first = openSegment(`${databasePath}-pending-0`);
  const second = openSegment(`${databasePath}-pending-1`);
  const segments = [first, second];
  let [current, other] = [first, second];
  let next = 0;
  /**
   * Marks up to `count` calls of a segment as stored in the database. Returns how many of the
   * `count` calls are in the other segment.
   */
  const markStored = (segment: Segment, count: number): number => {
    const here = Math.min(count, segment.pending);
    segment.pending -= here;
    const isFull = segment !== current || segment.size > maxSegmentSize;
    if (segment.pending === 0 && isFull) empty(segment);
    return count - here;
  };
  const read = segments.map((segment) => ({ segment, ...framesOf(segment) }));
  for (const { segment, frames } of read) segment.pending = frames.length;
  const left = read.flatMap(({ frames }) => frames).toSorted((a, b) => a.order - b.order);
  return {
    left: left.map(({ call }) => call),
    damage: damageOf(read, left),
    clear: () => segments.forEach(empty),
    append: (call) => {
      if (current.size > maxSegmentSize && other.pending === 0) [current, other] = [other, current];
      append(current, toFrame(next++, call));
    },
    stored: (count) => void markStored(current, markStored(other, count)),
    close: () => {
      const isDone = segments.every(({ pending }) => pending === 0);
      for (const { file, path } of segments) {
        closeSync(file);
        if (isDone) unlinkSync(path);
      }
    },
  };
}

function openSegment(path: string): Segment {
  try {
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return { path, file, size: fstatSync(file).size, pending: 0 };
  } catch (cause) {
    throw new BufferError(
      `${path}, the journal of served calls, cannot be opened: ${describeError(cause)}. Expected a writable file next to the database. Check the permissions of its folder.`,
      { code: 'SERVE_OPEN', cause },
    );
  }
}

interface ReadSegment extends FramesRead {
  readonly segment: Segment;
}

/**
 * Returns a description of the damage, or undefined if there is none. Copies the damaged files,
 * because they are the only trace of the lost calls.
 */
function damageOf(read: readonly ReadSegment[], left: readonly Frame[]): Damage | undefined {
  const damaged = read.filter(({ unreadable }) => unreadable > 0);
  if (damaged.length === 0) return undefined;
  const [first, last] = [left[0]?.order ?? 0, left.at(-1)?.order ?? -1];
  return {
    bytes: damaged.reduce((sum, { unreadable }) => sum + unreadable, 0),
    missing: last - first + 1 - left.length,
    copies: damaged.map(({ segment: { path } }) => copyOf(path)),
  };
}

function copyOf(path: string): string {
  for (let n = 1; ; n++) {
    const copy = `${path}.damaged-${n}`;
    if (existsSync(copy)) continue;
    copyFileSync(path, copy);
    return copy;
  }
}

function framesOf({ file, size }: Segment): FramesRead {
  const bytes = Buffer.alloc(size);
  const length = readSync(file, bytes, 0, size, 0);
  return readFrames(bytes.subarray(0, length));
}

function append(segment: Segment, parts: readonly Uint8Array[]): void {
  const size = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  try {
    const written = writevSync(segment.file, parts, segment.size);
    if (written < size) throw new BufferError(`${written} of ${size} bytes were written`);
  } catch (cause) {
    ftruncateSync(segment.file, segment.size);
    throw new BufferError(
      `${segment.path} cannot be written: ${describeError(cause)}. Nothing of the call was stored. Check the disk.`,
      { code: 'SERVE_STORAGE', cause },
    );
  }
  segment.size += size;
  segment.pending++;
}

function empty(segment: Segment): void {
  if (segment.size > 0) ftruncateSync(segment.file, 0);
  segment.size = 0;
  segment.pending = 0;
}
