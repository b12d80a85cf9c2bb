/** A GGUF file: its metadata, and its tensors, which are decoded to float32 as they are read. */
import { closeSync, fstatSync, openSync } from 'node:fs';

import { CheckpointError } from '@trinity-rft/core';

import {
  emptyIntegers,
  emptyScales,
  levelsFormat,
  putIntegers,
  putScales,
  type LevelsFormat,
  type TensorLevels,
  type TensorScales,
} from '../quantization/levels.js';
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
  /** Size in the file. */
  readonly byteLength: number;
  /** Format of the blocks that {@link GgufFile.readLevels} returns. @default no blocks */
  readonly levels?: LevelsFormat;
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
  /**
   * Returns a tensor that is read from the file, until the file is closed.
   * @throws CheckpointError as {@link read}
   */
  stored(name: string): FileTensor;
  close(): void;
}

/** Range of adjacent elements of a tensor: whole rows. */
interface ElementRange {
  readonly start: number;
  readonly count: number;
}

/** A tensor in the format of its file. Rows are decoded when they are read. */
export interface StoredTensor {
  /** Size in bytes. */
  readonly byteLength: number;
  /**
   * Decodes as many elements as `into` has, row-major.
   * @param start first element, at the start of a row
   */
  read(into: Float32Array, start: number): void;
  /** @default the tensor holds floating point numbers */
  readonly levels?: StoredLevels;
}

/** A tensor of a file that is open. */
export interface FileTensor extends StoredTensor {
  /** Copies the tensor into memory, in the same format. */
  load(): StoredTensor;
}

/** The blocks of a quantised tensor. */
interface StoredLevels extends LevelsFormat {
  readIntegers(part: ElementRange): Uint8Array;
  readScales(part: ElementRange): TensorScales;
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
        const { format, pieces } = opened(path, file, placed.get(name), name);
        decode(format, pieces({ start, count: into.length }), into);
      },
      readLevels: (name, part) => {
        const { format, elements, pieces } = opened(path, file, placed.get(name), name);
        const { levels } = format;
        if (!levels) return undefined;
        const type = { ...format, levels };
        const range = part ?? { start: 0, count: elements };
        const integers = emptyIntegers(levels, range.count);
        const scales = emptyScales(levels, range.count);
        eachBlock(format, pieces(range), (bytes, from, at) => {
          putIntegers(type, bytes, from, integers, at);
          putScales(type, bytes, from, scales, at);
        });
        return { ...levelsFormat(levels), integers, ...scales };
      },
      stored: (name) => {
        const tensor = opened(path, file, placed.get(name), name);
        return { ...storedTensor(tensor), load: () => storedTensor(loaded(tensor)) };
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
  const byteLength = bytesOf(format, elements);
  const end = begin + byteLength;
  if (end > size) throw broken(path, `tensor ${name} ends at byte ${end} of ${size}`);
  return {
    name,
    shape,
    type: format.name,
    isQuantized: format.levels !== undefined,
    byteLength,
    ...(format.levels && { levels: levelsFormat(format.levels) }),
    format,
    begin,
    end,
  };
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

interface OpenedTensor {
  readonly format: TensorType;
  readonly elements: number;
  /** Reads the blocks of some elements piece by piece; the pieces share their memory. */
  readonly pieces: (part: ElementRange) => Iterable<Uint8Array>;
}

const bytesOf = ({ blockBytes, blockLength }: TensorType, elements: number): number =>
  (elements / blockLength) * blockBytes;

function opened(
  path: string,
  file: number,
  tensor: PlacedTensor | undefined,
  name: string,
): OpenedTensor {
  if (!tensor)
    throw new CheckpointError(`${path} holds no tensor ${name}.`, {
      code: 'GGUF_TENSOR_MISSING',
      details: { tensor: name },
    });
  const { format, begin, end } = tensor;
  return {
    format,
    elements: ((end - begin) / format.blockBytes) * format.blockLength,
    pieces: function* ({ start, count }) {
      const [from, bytes] = [begin + bytesOf(format, start), bytesOf(format, count)];
      const whole = Math.floor(chunkBytes / format.blockBytes) * format.blockBytes;
      const chunk = Buffer.allocUnsafe(Math.min(whole, bytes));
      for (let at = 0; at < bytes; at += chunk.length)
        yield readFully(path, file, from + at, chunk.subarray(0, bytes - at));
    },
  };
}

/** Calls `visit` for every block: it begins at `bytes[from]`, and with element `at`. */
function eachBlock(
  { blockBytes, blockLength }: TensorType,
  pieces: Iterable<Uint8Array>,
  visit: (bytes: Uint8Array, from: number, at: number) => void,
): void {
  let at = 0;
  for (const piece of pieces)
    for (let from = 0; from < piece.length; from += blockBytes, at += blockLength)
      visit(piece, from, at);
}

function decode(format: TensorType, pieces: Iterable<Uint8Array>, into: Float32Array): void {
  let at = 0;
  for (const piece of pieces) {
    format.decode(piece, into, at);
    at += (piece.length / format.blockBytes) * format.blockLength;
  }
}

/** Copies the bytes of a tensor into memory. */
function loaded({ format, elements, pieces }: OpenedTensor): OpenedTensor {
  const bytes = new Uint8Array(bytesOf(format, elements));
  let end = 0;
  for (const piece of pieces({ start: 0, count: elements })) {
    bytes.set(piece, end);
    end += piece.length;
  }
  const own = ({ start, count }: ElementRange): readonly Uint8Array[] => {
    const from = bytesOf(format, start);
    return [bytes.subarray(from, from + bytesOf(format, count))];
  };
  return { format, elements, pieces: own };
}

function storedTensor({ format, elements, pieces }: OpenedTensor): StoredTensor {
  const { levels } = format;
  return {
    byteLength: bytesOf(format, elements),
    read: (into, start) => decode(format, pieces({ start, count: into.length }), into),
    ...(levels && { levels: storedLevels({ ...format, levels }, pieces) }),
  };
}

function storedLevels(
  format: TensorType & Required<Pick<TensorType, 'levels'>>,
  pieces: OpenedTensor['pieces'],
): StoredLevels {
  const { levels } = format;
  return {
    ...levelsFormat(levels),
    readIntegers: (part) => {
      const integers = emptyIntegers(levels, part.count);
      eachBlock(format, pieces(part), (bytes, from, at) =>
        putIntegers(format, bytes, from, integers, at),
      );
      return integers;
    },
    readScales: (part) => {
      const scales = emptyScales(levels, part.count);
      eachBlock(format, pieces(part), (bytes, from, at) =>
        putScales(format, bytes, from, scales, at),
      );
      return scales;
    },
  };
}
