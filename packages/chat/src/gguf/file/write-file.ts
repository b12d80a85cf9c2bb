/** Writes a GGUF file tensor by tensor, so that at most a part of one tensor is in memory. */
import { open, type FileHandle } from 'node:fs/promises';

import { CheckpointError } from '@trinity-rft/core';
import { boundary, fillFile } from '@trinity-rft/core/support';

import { encoderOf, largestOf, type EncodedType, type Encoder } from '../quantization/encoders.js';
import { stringBytes, u32Bytes, u64Bytes, valueBytes, type TypedValue } from './typed-value.js';

/** A tensor to write. */
export interface TensorToWrite {
  readonly name: string;
  /** Row-major shape. */
  readonly shape: readonly number[];
  readonly type: EncodedType;
  /**
   * Returns the elements of the tensor in row-major order, in chunks of whole rows. Called once.
   */
  read(): AsyncIterable<Float32Array> | Iterable<Float32Array>;
}

export interface GgufContent {
  /** Metadata in the order in which it is written. */
  readonly keys: readonly (readonly [key: string, value: TypedValue])[];
  readonly tensors: readonly TensorToWrite[];
}

const version = 3;
/** Default of `general.alignment`, which need not be written. */
const alignment = 32;
/** Number of values that are encoded at once; a multiple of every block length. */
const chunkNumbers = 1 << 18;

/**
 * Writes a little-endian file of GGUF version 3. Writes to a temporary file next to `path`, and
 * renames the file once it is on disk.
 * @returns the size of the file in bytes
 * @throws CheckpointError when a tensor's numbers do not match its shape, a number or a key is out of
 * the range of its type, rows do not consist of whole blocks, or the file cannot be written
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function writeGguf(path: string, content: GgufContent): Promise<number> {
  const placed = place(path, content.tensors);
  const start = header(path, content.keys, placed);
  const write = async (draft: string): Promise<number> => {
    await using handle = await open(draft, 'w');
    const size = await writeAll(handle, path, start, placed);
    await handle.sync();
    return size;
  };
  return boundary(
    (cause) => unwritable(path, cause),
    () => fillFile(path, write),
  );
}

const unwritable = (path: string, cause: unknown): CheckpointError =>
  new CheckpointError(
    `${path} could not be written. Check that its folder exists, is writable and has room.`,
    { code: 'GGUF_UNWRITABLE', cause },
  );

/** A tensor with its offset from the start of the data. */
interface Placed {
  readonly tensor: TensorToWrite;
  readonly encoder: Encoder;
  readonly count: number;
  readonly offset: number;
  readonly bytes: number;
}

function place(path: string, tensors: readonly TensorToWrite[]): readonly Placed[] {
  let end = 0;
  return tensors.map((tensor) => {
    const encoder = encoderOf(tensor.type);
    const { name, shape, type } = tensor;
    if ((shape.at(-1) ?? 1) % encoder.blockLength !== 0)
      throw invalid(
        path,
        name,
        `has rows of ${shape.at(-1)} numbers; expected a multiple of ${encoder.blockLength}, the block of ${type}`,
        asF32,
      );
    const count = shape.reduce((product, n) => product * n, 1);
    const offset = aligned(end);
    const bytes = (count / encoder.blockLength) * encoder.blockBytes;
    end = offset + bytes;
    return { tensor, encoder, count, offset, bytes };
  });
}

const aligned = (position: number): number => Math.ceil(position / alignment) * alignment;

const asF32 = 'Write it as F32.';

/** @param fix advice for the user, as a full sentence */
const invalid = (path: string, name: string, what: string, fix: string): CheckpointError =>
  new CheckpointError(`${path}: tensor ${name} ${what}. ${fix}`, {
    code: 'GGUF_TENSOR_INVALID',
    details: { tensor: name },
  });

async function writeAll(
  handle: FileHandle,
  path: string,
  start: Buffer,
  placed: readonly Placed[],
): Promise<number> {
  let position = await append(handle, start);
  for (const each of placed) {
    position += await append(handle, Buffer.alloc(aligned(position) - position));
    position += await writeTensor(handle, path, each);
  }
  return position;
}

function header(path: string, keys: GgufContent['keys'], placed: readonly Placed[]): Buffer {
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32Bytes(version),
    u64Bytes(placed.length),
    u64Bytes(keys.length),
    ...keys.flatMap(([key, value]) => [stringBytes(key), keyBytes(path, key, value)]),
    ...placed.flatMap(({ tensor: { name, shape }, encoder, offset }) => [
      stringBytes(name),
      u32Bytes(shape.length),
      ...shape.toReversed().map(u64Bytes),
      u32Bytes(encoder.number),
      u64Bytes(offset),
    ]),
  ]);
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length)]);
}

function keyBytes(path: string, key: string, typed: TypedValue): Buffer {
  try {
    return valueBytes(typed);
  } catch (cause) {
    const type = 'type' in typed ? typed.type : `a list of ${typed.list}`;
    throw new CheckpointError(
      `${path}: ${key} is ${String(typed.value).slice(0, 80)}, which ${type} cannot store. Correct it in the files of the model.`,
      { code: 'GGUF_KEY_INVALID', details: { key }, cause },
    );
  }
}

async function writeTensor(handle: FileHandle, path: string, placed: Placed): Promise<number> {
  const { tensor, encoder, count, bytes } = placed;
  let done = 0;
  for await (const part of tensor.read()) {
    assertStorable(path, tensor, part);
    for (let at = 0; at < part.length; at += chunkNumbers)
      await append(handle, encode(encoder, part.subarray(at, at + chunkNumbers)));
    done += part.length;
  }
  if (done !== count)
    throw invalid(
      path,
      tensor.name,
      `has ${done} numbers; expected ${count}, by its shape [${tensor.shape.join(', ')}]`,
      'Copy or save the weights again.',
    );
  return bytes;
}

function encode(encoder: Encoder, values: Float32Array): Buffer {
  const { blockLength, blockBytes } = encoder;
  const bytes = Buffer.alloc((values.length / blockLength) * blockBytes);
  for (let from = 0, to = 0; from < values.length; from += blockLength, to += blockBytes)
    encoder.encode(values, from, bytes, to);
  return bytes;
}

function assertStorable(path: string, { name, type }: TensorToWrite, part: Float32Array): void {
  for (const value of part)
    if (!(Math.abs(value) <= largestOf[type]))
      throw invalid(
        path,
        name,
        `holds ${value}, which ${type} cannot store`,
        Number.isFinite(value) ? asF32 : 'The weights have diverged: use an earlier checkpoint.',
      );
}

async function append(handle: FileHandle, bytes: Buffer): Promise<number> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
  return bytes.length;
}
