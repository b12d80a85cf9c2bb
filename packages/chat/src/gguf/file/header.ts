/**
 * The header of a GGUF file: key-value pairs, and the name, shape, data type and offset of each
 * tensor.
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import { refuseLfsPointer } from '@trinity-rft/core/support';

import type { Cursor } from './cursor.js';
import { broken, unsupported } from './failure.js';

export type GgufValue = number | boolean | string | readonly GgufValue[];
export type Metadata = ReadonlyMap<string, GgufValue>;

export interface TensorEntry {
  readonly name: string;
  /** Row-major shape. The file stores the dimensions in reverse order. */
  readonly shape: readonly number[];
  /** Number of the data type in ggml. */
  readonly type: number;
  /** Offset in bytes from the start of the tensor data. */
  readonly offset: number;
}

export interface Header {
  readonly metadata: Metadata;
  readonly tensors: readonly TensorEntry[];
  /** Position of the tensor data in the file, in bytes. */
  readonly dataStart: number;
}

/** "GGUF" as a number. */
const magic = 0x46554747;
const mostDimensions = 4;

export function readHeader(cursor: Cursor): Header {
  const { path } = cursor;
  refuseLfsPointer(path, cursor.start.toString('latin1'));
  if (cursor.u32() !== magic) throw broken(path, 'it does not begin with "GGUF"');
  const version = cursor.u32();
  if (version !== 2 && version !== 3)
    throw unsupported(
      path,
      'version',
      `version ${version} of GGUF; expected 2 or 3, little-endian.`,
    );
  const tensorCount = cursor.u64();
  const pairCount = cursor.u64();
  cursor.assertRoom(tensorCount, 24);
  cursor.assertRoom(pairCount, 12);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < pairCount; i++) {
    const key = cursor.string();
    if (metadata.has(key)) throw broken(path, `it has ${JSON.stringify(key)} twice`);
    metadata.set(key, readValue(cursor, cursor.u32()));
  }
  const tensors = Array.from({ length: tensorCount }, () => readTensor(cursor));
  const alignment = metadata.get('general.alignment') ?? 32;
  if (!Number.isInteger(alignment) || Number(alignment) < 1)
    throw broken(path, `general.alignment is ${String(alignment)}`);
  assertPlaces(path, tensors, Number(alignment));
  return {
    metadata,
    tensors,
    dataStart: Math.ceil(cursor.position / Number(alignment)) * Number(alignment),
  };
}

function assertPlaces(path: string, tensors: readonly TensorEntry[], alignment: number): void {
  const names = new Set<string>();
  for (const { name, offset } of tensors) {
    if (names.has(name)) throw broken(path, `it has tensor ${name} twice`);
    names.add(name);
    if (offset % alignment !== 0)
      throw broken(path, `tensor ${name} is at ${offset}, which is no multiple of ${alignment}`);
  }
}

function readTensor(cursor: Cursor): TensorEntry {
  const name = cursor.string();
  const dimensions = cursor.u32();
  if (dimensions > mostDimensions)
    throw broken(cursor.path, `tensor ${name} has ${dimensions} dimensions`);
  const shape = Array.from({ length: dimensions }, () => cursor.u64()).toReversed();
  return { name, shape, type: cursor.u32(), offset: cursor.u64() };
}

const stringType = 8;
const arrayType = 9;

/**
 * Readers of values other than arrays, by type number, with the minimum size of a value in bytes. A
 * string has at least its length, which takes 8 bytes.
 */
const readers: Readonly<Record<number, { bytes: number; read: (cursor: Cursor) => GgufValue }>> = {
  0: { bytes: 1, read: (cursor) => cursor.u8() },
  1: { bytes: 1, read: (cursor) => cursor.number(1, (at) => at.readInt8()) },
  2: { bytes: 2, read: (cursor) => cursor.number(2, (at) => at.readUInt16LE()) },
  3: { bytes: 2, read: (cursor) => cursor.number(2, (at) => at.readInt16LE()) },
  4: { bytes: 4, read: (cursor) => cursor.u32() },
  5: { bytes: 4, read: (cursor) => cursor.number(4, (at) => at.readInt32LE()) },
  6: { bytes: 4, read: (cursor) => shortest(cursor.f32()) },
  7: { bytes: 1, read: (cursor) => cursor.u8() !== 0 },
  [stringType]: { bytes: 8, read: (cursor) => cursor.string() },
  10: { bytes: 8, read: (cursor) => cursor.u64() },
  11: { bytes: 8, read: (cursor) => cursor.number(8, (at) => at.readBigInt64LE()) },
  12: { bytes: 8, read: (cursor) => cursor.number(8, (at) => at.readDoubleLE()) },
};

function readValue(cursor: Cursor, type: number, depth = 0): GgufValue {
  if (type !== arrayType) return readerOf(cursor, type).read(cursor);
  if (depth > 1) throw broken(cursor.path, 'it holds arrays of arrays of arrays');
  const itemType = cursor.u32();
  const count = cursor.u64();
  cursor.assertRoom(count, itemType === arrayType ? 12 : readerOf(cursor, itemType).bytes);
  return Array.from({ length: count }, () => readValue(cursor, itemType, depth + 1));
}

function readerOf(cursor: Cursor, type: number) {
  const reader = readers[type];
  if (!reader) throw broken(cursor.path, `a value before byte ${cursor.position} has type ${type}`);
  return reader;
}

/**
 * Returns the shortest decimal number that rounds to the same float32, such as 1e-5 instead of
 * 9.99999974e-6.
 */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return decimal;
  }
  return value;
}
