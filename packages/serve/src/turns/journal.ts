/**
 * Calls on their way into the database, in two files beside it: a call that is in them survives the
 * end of the process.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writevSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import { BufferError, describeError } from '@trinity-rft/core';
import type { EncodedCall } from './sqlite.js';

export interface Journal {
  /** What an earlier process left, oldest first; some of it may be in the database already. */
  readonly left: readonly EncodedCall[];
  /** All that is in the files is in the database. */
  clear(): void;
  /**
   * When it returns, the call survives SIGKILL. A few microseconds: it waits for no disk.
   * @throws BufferError; nothing is written then
   */
  append(call: EncodedCall): void;
  /** So many more of the calls, in their order, are in the database. */
  settled(count: number): void;
  /** Takes the files away where nothing in them is needed. */
  close(): void;
}

interface Segment {
  readonly path: string;
  readonly file: number;
  /** Bytes of whole frames. */
  size: number;
  /** Calls in it that are not in the database. */
  open: number;
}

/**
 * A file that is larger is left, as soon as the calls in the other one are in the database; in
 * bytes.
 */
const segmentSize = 2 ** 20;

/** @throws BufferError when the files cannot be opened or read */
export function openJournal(databasePath: string): Journal {
  const segments = [0, 1].map((i) => openSegment(`${databasePath}-pending-${i}`)) as [
    Segment,
    Segment,
  ];
  let [current, other] = segments;
  let next = 0;
  const empty = (segment: Segment): void => {
    if (segment.size > 0) ftruncateSync(segment.file, 0);
    segment.size = 0;
  };
  const take = (segment: Segment, count: number): number => {
    const taken = Math.min(count, segment.open);
    segment.open -= taken;
    if (segment.open === 0 && (segment !== current || segment.size > segmentSize)) empty(segment);
    return count - taken;
  };
  return {
    left: segments
      .flatMap(readFrames)
      .toSorted((a, b) => a.order - b.order)
      .map(({ call }) => call),
    clear: () => segments.forEach(empty),
    append: (call) => {
      if (current.size > segmentSize && other.open === 0) [current, other] = [other, current];
      append(current, toFrame(next++, call));
    },
    settled: (count) => void take(current, take(other, count)),
    close: () => {
      const done = segments.every(({ open }) => open === 0);
      for (const { file, path } of segments) {
        closeSync(file);
        if (done) unlinkSync(path);
      }
    },
  };
}

function openSegment(path: string): Segment {
  try {
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return { path, file, size: fstatSync(file).size, open: 0 };
  } catch (cause) {
    throw new BufferError(
      `${path}, where calls wait for the store, cannot be opened: ${describeError(cause)}. Expected a file that can be written beside the store. Look at the rights of its folder.`,
      { code: 'SERVE_OPEN', cause },
    );
  }
}

/**
 * `[size of the rest, CRC-32 of the rest, number, size of the head]`, the head as JSON, the
 * experiences. The file may end within a frame: when the process was killed while it wrote, and
 * after a power cut.
 */
const prefixSize = 20;

function toFrame(
  order: number,
  { msgId, session, experiences }: EncodedCall,
): readonly Uint8Array[] {
  const head = Buffer.from(
    JSON.stringify({ msgId, session, sizes: experiences.map(({ byteLength }) => byteLength) }),
  );
  const prefix = Buffer.allocUnsafe(prefixSize);
  const rest = experiences.reduce((sum, { byteLength }) => sum + byteLength, 12 + head.length);
  prefix.writeUInt32LE(rest, 0);
  prefix.writeDoubleLE(order, 8);
  prefix.writeUInt32LE(head.length, 16);
  const parts = [prefix.subarray(8), head, ...experiences];
  prefix.writeUInt32LE(
    parts.reduce((sum, part) => crc32(part, sum), 0),
    4,
  );
  return [prefix, head, ...experiences];
}

function append(segment: Segment, parts: readonly Uint8Array[]): void {
  const size = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  try {
    const written = writevSync(segment.file, parts, segment.size);
    if (written < size) throw new BufferError(`${written} of ${size} bytes were written`);
  } catch (cause) {
    ftruncateSync(segment.file, segment.size);
    throw new BufferError(
      `${segment.path} could not be written: ${describeError(cause)}. Nothing of the call was stored. Check the disk.`,
      {
        code: 'SERVE_STORAGE',
        cause,
      },
    );
  }
  segment.size += size;
  segment.open++;
}

interface Frame {
  readonly order: number;
  readonly call: EncodedCall;
}

/** Up to the first frame that is not whole. */
function readFrames({ file, size }: Segment): readonly Frame[] {
  const bytes = Buffer.alloc(size);
  const length = readSync(file, bytes, 0, size, 0);
  const frames: Frame[] = [];
  for (let at = 0; at + prefixSize <= length;) {
    const end = at + 8 + bytes.readUInt32LE(at);
    if (
      end < at + prefixSize ||
      end > length ||
      crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)
    )
      break;
    frames.push(fromFrame(bytes.subarray(at + 8, end)));
    at = end;
  }
  return frames;
}

function fromFrame(bytes: Buffer): Frame {
  let at = 12 + bytes.readUInt32LE(8);
  const { msgId, session, sizes } = JSON.parse(bytes.toString('utf8', 12, at)) as {
    readonly msgId: string;
    readonly session: string;
    readonly sizes: readonly number[];
  };
  const experiences = sizes.map((size) => new Uint8Array(bytes.subarray(at, (at += size))));
  return { order: bytes.readDoubleLE(0), call: { msgId, session, experiences } };
}
