/** A GGUF file: its metadata, and its tensors, which are decoded to float32 as they are read. */
import { closeSync, fstatSync, openSync } from 'node:fs';

import { CheckpointError } from '@trinity-rft/core';

import { emptyLevels, putLevels, type TensorLevels } from '../quantization/levels.js';
import { typeName, tensorTypes, type TensorType } from '../quantization/table.js';
import { Cursor, readFully } from './cursor.js';
import { broken, unsupported } from './failure.js';
import { readHeader, type Metadata, type TensorEntry } from './header.js';

export interface GgufTensor {
  readonly name: string;
  /** Row-major shape. */
  readonly shape: readonly number[];
  /** Name of the tensor's data type in ggml, such as `Q4_K`. */
  readonly type: string;
  /** True if the tensor is stored as integers with scales. */
  readonly isQuantized: boolean;
}

export interface GgufFile {
  readonly path: string;
  readonly metadata: Metadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /**
   * Decodes elements of a tensor in row-major order until `into` is full.
   * @param start index of the first element, which must be at the start of a row. @default 0
   * @throws CheckpointError when there is no such tensor, or the file was cut short
   */
  read(name: string, into: Float32Array, start?: number): void;
  /**
   * Returns the integers of a quantised tensor and their scales; undefined for a floating-point
   * tensor.
   * @param part elements to read, which must be whole rows. @default all elements
   * @throws CheckpointError as {@link read}
   */
  readLevels(name: string, part?: ElementRange): TensorLevels | undefined;
  close(): void;
}

/** Range of adjacent elements of a tensor. */
interface ElementRange {
  readonly start: number;
  readonly count: number;
}

/** A tensor with the byte range of its data in the file. */
interface PlacedTensor extends GgufTensor {
  readonly format: TensorType;
  readonly begin: number;
  readonly end: number;
}

/** Approximate number of bytes decoded at once. */
const chunkBytes = 4 << 20;

/**
 * Opens a GGUF file and reads its header.
 * @throws CheckpointError when the file is not GGUF, is cut short, or has tensors of an unknown
 * data type
 */
export function openGguf(path: string): GgufFile {
  const file = open(path);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw unreadable(path);
    const { size } = stats;
    const { metadata, tensors, dataStart } = readHeader(new Cursor(path, file, size));
    const placed = new Map(
      tensors.map((entry) => [entry.name, place(path, entry, dataStart, size)] as const),
    );
    assertApart(path, [...placed.values()]);
    return {
      path,
      metadata,
      tensors: placed,
      read: (name, into, start = 0) => {
        const part = { start, count: into.length };
        const { format, blocks } = opened(path, file, placed.get(name), { name, part });
        for (const { bytes, from, at } of blocks) format.decode(bytes, from, into, at);
      },
      readLevels: (name, part) => {
        const { format, blocks, numbers } = opened(path, file, placed.get(name), { name, part });
        const { levels, blockLength } = format;
        if (!levels) return undefined;
        const into = emptyLevels(levels, numbers);
        for (const { bytes, from, at } of blocks)
          putLevels({ blockLength, levels }, bytes, from, into, at);
        return into;
      },
      close: () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function open(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

const unreadable = (path: string, cause?: unknown): CheckpointError =>
  new CheckpointError(`${path} cannot be opened; expected a readable GGUF file.`, {
    code: 'GGUF_UNREADABLE',
    cause,
  });

function place(path: string, entry: TensorEntry, dataStart: number, size: number): PlacedTensor {
  const { name, shape, offset } = entry;
  const format = tensorTypes.get(entry.type);
  if (!format)
    throw unsupported(
      path,
      name,
      `tensor ${name} is stored as ${typeName(entry.type)}; expected one of ${[...tensorTypes.values()].map((type) => type.name).join(', ')}. Use the file of this model in another quantisation, such as Q8_0 or Q4_K_M.`,
    );
  const elements = shape.reduce((product, n) => product * n, 1);
  if ((shape.at(-1) ?? 1) % format.blockLength !== 0)
    throw broken(
      path,
      `tensor ${name} of shape [${shape.join(', ')}] is not made of whole blocks of ${format.name}`,
    );
  const begin = dataStart + offset;
  const end = begin + (elements / format.blockLength) * format.blockBytes;
  if (end > size) throw broken(path, `tensor ${name} ends at byte ${end} of ${size}`);
  const isQuantized = format.levels !== undefined;
  return { name, shape, type: format.name, isQuantized, format, begin, end };
}

/**
 * Checks that tensors do not overlap. If they do, an offset is damaged, and a tensor would be read
 * from the data of another one.
 */
function assertApart(path: string, tensors: readonly PlacedTensor[]): void {
  const sorted = tensors.toSorted((a, b) => a.begin - b.begin || a.end - b.end);
  for (const [i, { name, begin }] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before && begin < before.end)
      throw broken(path, `tensors ${before.name} and ${name} overlap at byte ${begin}`);
  }
}

/**
 * Location of a block, which begins at `bytes[from]`. `at` is the index of the block's first
 * element within the elements that are read.
 */
interface BlockPlace {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly at: number;
}

interface OpenedTensor {
  readonly format: TensorType;
  readonly numbers: number;
  /** Locations of all blocks to read. The iterator reuses one object for them. */
  readonly blocks: Iterable<BlockPlace>;
}

function opened(
  path: string,
  file: number,
  tensor: PlacedTensor | undefined,
  { name, part }: { readonly name: string; readonly part: ElementRange | undefined },
): OpenedTensor {
  if (!tensor)
    throw new CheckpointError(`${path} holds no tensor ${name}.`, {
      code: 'GGUF_TENSOR_MISSING',
      details: { tensor: name },
    });
  const { format } = tensor;
  const bytesOf = (numbers: number): number => (numbers / format.blockLength) * format.blockBytes;
  const begin = tensor.begin + bytesOf(part?.start ?? 0);
  const end = part ? begin + bytesOf(part.count) : tensor.end;
  const numbers = ((end - begin) / format.blockBytes) * format.blockLength;
  return { format, numbers, blocks: blocksOf(path, file, { ...tensor, begin, end }) };
}

function* blocksOf(
  path: string,
  file: number,
  { format, begin, end }: PlacedTensor,
): Generator<BlockPlace> {
  const whole = Math.floor(chunkBytes / format.blockBytes) * format.blockBytes;
  const chunk = Buffer.alloc(Math.min(whole, end - begin));
  const place: { bytes: Uint8Array; from: number; at: number } = { bytes: chunk, from: 0, at: 0 };
  for (let at = begin; at < end; at += place.bytes.length) {
    place.bytes = readFully(path, file, at, chunk.subarray(0, Math.min(chunk.length, end - at)));
    for (place.from = 0; place.from < place.bytes.length; place.from += format.blockBytes) {
      yield place;
      place.at += format.blockLength;
    }
  }
}
