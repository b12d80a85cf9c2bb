/**
 * Reads and writes safetensors files. A file consists of an 8-byte header length, a JSON header and
 * the bytes of the tensors.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';

import { CheckpointError, describeError, InvariantError } from '@trinity-rft/core';
import { verifyStored } from '@trinity-rft/core/engine';
import { fillFile, lazily, refuseLfsPointer, repeatedKey } from '@trinity-rft/core/support';
import { z } from 'zod';

import { bytesOf } from '../runtime/host-arrays.js';
import { decodeFloats, encodeFloats, isStoredType, storedTypes, type StoredType } from './dtype.js';

/** Location of a tensor in its file. */
interface StoredTensor {
  readonly name: string;
  readonly type: StoredType;
  readonly shape: readonly number[];
  /** Byte range in the file. */
  readonly begin: number;
  readonly end: number;
}

export interface SafetensorsFile {
  /** Name of the file without its folder, for messages. */
  readonly file: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
  /**
   * Fills `into` with elements of a tensor, in row-major order and converted to float32.
   * @param start index of the first element. @default 0
   * @throws CheckpointError when the file ends before them, or one is NaN or infinite
   */
  read(name: string, into: Float32Array, start?: number): Promise<void>;
  close(): Promise<void>;
}

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface WriteOptions {
  /** Data type of the tensors. @default "F32" */
  readonly type?: StoredType;
  /** Metadata of the file. @default { format: "pt" }, which transformers requires */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Signal that stops writing between two chunks; its reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Number of bytes that are read or converted at once. It limits the memory needed in addition to
 * the tensors themselves.
 */
const chunkBytes = 4 << 20;
/** Maximum number of bytes of one read. Node cannot read 2 GiB or more at once. */
const maxReadBytes = 1 << 30;
/** Maximum size of a header that the format allows, in bytes. */
const maxHeaderBytes = 100 << 20;

const weightsRemedy =
  'Download the model again, or use an earlier checkpoint if the weights have diverged in training.';

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});
const headerSchema = z
  .object({ __metadata__: z.record(z.string(), z.string()).optional() })
  .catchall(entrySchema);

/**
 * Opens a file and reads its header.
 * @param remedy sentence of the error about numbers that are not finite
 * @throws CheckpointError when the file is not safetensors or is truncated
 */
export async function openSafetensors(
  path: string,
  remedy = weightsRemedy,
): Promise<SafetensorsFile> {
  const file = basename(path);
  const handle = await open(path, 'r').catch((cause: NodeJS.ErrnoException) => {
    const message =
      cause.code === 'ENOENT'
        ? `${path} does not exist; copy or download it again.`
        : `${path} cannot be opened: ${describeError(cause)}. Expected a readable safetensors file.`;
    throw new CheckpointError(message, { code: 'WEIGHTS_UNREADABLE', cause });
  });
  try {
    const { tensors, metadata } = await readHeader(handle, path);
    // Verified once, and only when tensors are read: `trinity config check` reads only headers.
    const verified = lazily(() => verifyStored(path));
    return {
      file,
      tensors,
      metadata,
      read: async (name, into, start = 0) => {
        await verified.get();
        await readTensor(handle, path, tensors.get(name), { name, into, start });
        assertFiniteTensor(path, name, into, remedy);
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readHeader(
  handle: FileHandle,
  path: string,
): Promise<Pick<SafetensorsFile, 'tensors' | 'metadata'>> {
  const fileBytes = (await handle.stat()).size;
  const lengthBytes = await readFully(handle, path, 0, Buffer.alloc(8));
  const length = Number(lengthBytes.readBigUInt64LE());
  if (length > Math.min(maxHeaderBytes, fileBytes - 8)) {
    const start = await readFully(handle, path, 0, Buffer.alloc(Math.min(32, fileBytes)));
    refuseLfsPointer(path, start.toString('latin1'));
    throw broken(path, `its header claims ${length} bytes of a ${fileBytes}-byte file`);
  }
  const text = (await readFully(handle, path, 8, Buffer.alloc(length))).toString('utf8');
  const { __metadata__: metadata = {}, ...entries } = parseHeader(text, path);
  const tensors = new Map(
    Object.entries(entries).map(([name, entry]) => [
      name,
      locate(name, entry, 8 + length, fileBytes, path),
    ]),
  );
  assertContiguous([...tensors.values()], 8 + length, fileBytes, path);
  return { tensors, metadata };
}

/**
 * Checks that tensors neither overlap nor leave gaps, as the format requires. With a wrong offset,
 * a tensor would be read from the bytes of another one.
 */
function assertContiguous(
  tensors: readonly StoredTensor[],
  dataStart: number,
  fileBytes: number,
  path: string,
): void {
  let at = dataStart;
  for (const { name, begin, end } of tensors.toSorted(
    (a, b) => a.begin - b.begin || a.end - b.end,
  )) {
    if (begin !== at)
      throw broken(
        path,
        `tensor ${name} begins at byte ${begin}, and the one before it ends at ${at}`,
      );
    at = end;
  }
  if (at !== fileBytes) throw broken(path, `its tensors end at byte ${at} of ${fileBytes}`);
}

function parseHeader(text: string, path: string): z.infer<typeof headerSchema> {
  let header: z.infer<typeof headerSchema>;
  try {
    header = headerSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw broken(path, 'its header is not the JSON of the format', cause);
  }
  const repeated = repeatedKey(text);
  if (repeated === undefined) return header;
  throw broken(path, `its header names ${JSON.stringify(repeated.key)} twice`);
}

function locate(
  name: string,
  entry: z.infer<typeof entrySchema>,
  dataStart: number,
  fileBytes: number,
  path: string,
): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = entry;
  if (!isStoredType(dtype)) {
    throw new CheckpointError(
      `${path}: tensor ${name} is stored as ${dtype}; expected one of ` +
        `${Object.keys(storedTypes).join(', ')}. Save the model in one of these types.`,
      { code: 'WEIGHTS_TYPE', details: { tensor: name, dtype } },
    );
  }
  const [begin, end] = [dataStart + offsets[0], dataStart + offsets[1]];
  const bytes = shape.reduce((product, n) => product * n, storedTypes[dtype]);
  if (end - begin !== bytes)
    throw broken(
      path,
      `tensor ${name} of shape [${shape.join(', ')}] has ${end - begin} bytes instead of ${bytes}`,
    );
  if (end > fileBytes)
    throw broken(path, `tensor ${name} ends at byte ${end} of a ${fileBytes}-byte file`);
  return { name, type: dtype, shape, begin, end };
}

async function readTensor(
  handle: FileHandle,
  path: string,
  tensor: StoredTensor | undefined,
  {
    name,
    into,
    start,
  }: { readonly name: string; readonly into: Float32Array; readonly start: number },
): Promise<void> {
  if (tensor === undefined)
    throw new CheckpointError(`${path} holds no tensor ${name}.`, {
      code: 'WEIGHTS_TENSOR_MISSING',
      details: { tensor: name },
    });
  const size = storedTypes[tensor.type];
  const begin = tensor.begin + start * size;
  const end = begin + into.length * size;
  if (end > tensor.end)
    throw new InvariantError(`The part of ${name} from element ${start} on ends after the tensor.`);
  if (tensor.type === 'F32') {
    await readFully(handle, path, begin, bytesOf(into));
    return;
  }
  const chunk = spareChunks.pop() ?? new Uint8Array(chunkBytes);
  for (let at = begin; at < end; at += chunk.length) {
    const bytes = chunk.subarray(0, Math.min(chunk.length, end - at));
    await readFully(handle, path, at, bytes);
    const first = (at - begin) / size;
    decodeFloats(bytes, tensor.type, into.subarray(first, first + bytes.length / size));
  }
  spareChunks.push(chunk);
}

/**
 * Checks that a tensor contains neither NaN nor infinity.
 * @throws CheckpointError naming file and tensor when it does
 */
export function assertFiniteTensor(
  path: string,
  name: string,
  numbers: Float32Array,
  remedy = weightsRemedy,
): void {
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  // The exponent of NaN and infinity is all ones. `Number.isFinite` takes three times as long.
  for (let i = 0; i < bits.length; i++)
    if ((bits[i]! & 0x7f800000) === 0x7f800000)
      throw new CheckpointError(
        `${path}: tensor ${name} contains ${numbers[i]}; expected finite numbers. ${remedy}`,
        { code: 'WEIGHTS_NOT_FINITE', details: { tensor: name } },
      );
}

/**
 * Chunks for reuse. Allocating a new chunk for each tensor would fill the memory before the garbage
 * collector frees earlier chunks.
 */
const spareChunks: Uint8Array[] = [];

async function readFully<Bytes extends Uint8Array>(
  handle: FileHandle,
  path: string,
  position: number,
  into: Bytes,
): Promise<Bytes> {
  for (let done = 0; done < into.length;) {
    const wanted = Math.min(into.length - done, maxReadBytes);
    const { bytesRead } = await handle.read(into, done, wanted, position + done);
    if (bytesRead === 0) throw broken(path, `it ends after ${position + done} bytes`);
    done += bytesRead;
  }
  return into;
}

/**
 * Writes the tensors in the given order. Writes to a temporary file first, and renames it once its
 * content is on disk. Equal tensors give identical files.
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly NamedTensor[],
  options: WriteOptions = {},
): Promise<void> {
  const { type = 'F32', signal } = options;
  const write = async (draft: string): Promise<void> => {
    await using handle = await open(draft, 'w');
    await writeFully(handle, encodeHeader(tensors, type, options.metadata ?? { format: 'pt' }));
    for (const tensor of tensors) {
      for (let at = 0; at < tensor.data.length; at += chunkBytes / 4) {
        signal?.throwIfAborted();
        await writeFully(handle, encodeFloats(tensor.data.subarray(at, at + chunkBytes / 4), type));
      }
    }
    await handle.sync();
  };
  await fillFile(path, write).catch((cause: unknown) => {
    signal?.throwIfAborted();
    throw new CheckpointError(
      `${path} could not be written: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
      {
        code: 'WEIGHTS_UNWRITABLE',
        cause,
      },
    );
  });
}

function encodeHeader(
  tensors: readonly NamedTensor[],
  type: StoredType,
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    const end = offset + data.length * storedTypes[type];
    header[name] = { dtype: type, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  // Padded with spaces to a multiple of 8, so that readers can map the tensors into memory.
  const padded = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, ' ');
  padded.writeBigUInt64LE(BigInt(padded.length - 8));
  json.copy(padded, 8);
  return padded;
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

function broken(path: string, why: string, cause?: unknown): CheckpointError {
  return new CheckpointError(
    `${path} is not a complete safetensors file: ${why}. Copy or download it again.`,
    { code: 'WEIGHTS_BROKEN', cause },
  );
}
