/** Downloads an adapter from the server into a folder that PEFT and vLLM can read. */
import { access, constants, copyFile, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeError, CheckpointError, TrinityError } from '@trinity-rft/core';
import { numberOfHalf } from '@trinity-rft/core/support';
import { paths } from '../../protocol/index.js';
import { extract } from 'tar';
import { z } from 'zod';
import type { Answer, Connection } from '../http/connection.js';
import type { RemoteModel } from '../remote/model.js';
import { removeSaved, type RemoveOptions } from '../remote/saved.js';

const mostRedirects = 5;
const downloadMs = 600_000;

const files = ['adapter_config.json', 'adapter_model.safetensors'];

/**
 * Returns true for the adapter files in an archive. Compares base names, because SkyRL's archives
 * prefix file names with `/`.
 */
const isWanted = (entry: string): boolean => files.includes(path.posix.basename(entry));

/**
 * Saves a model's adapter on the server, downloads it into `directory` like {@link fetchAdapter},
 * and then deletes the server's copy.
 */
export async function takeAdapter(
  options: RemoveOptions,
  model: RemoteModel,
  { directory, name }: { readonly directory: string; readonly name: string },
): Promise<Adapter> {
  const saved = { modelId: model.id, kind: 'sampler_weights', name } as const;
  await model.saveAdapter(name);
  try {
    return await fetchAdapter(options.connection, saved, directory);
  } finally {
    await removeSaved(options, saved);
  }
}

/**
 * Returns true if an adapter cannot be downloaded although the server has it: the server has no
 * archives, or the adapter lies in a folder that this machine does not see.
 */
export const isOutOfReach = (error: unknown): boolean =>
  TrinityError.is(error) && (error.details['status'] === 404 || error.code === elsewhereCode);

const elsewhereCode = 'TINKER_ADAPTER_ELSEWHERE';

/**
 * Downloads a saved adapter into `directory`.
 * @returns the adapter's values and rank
 * @throws CheckpointError if the archive contains no adapter, or a value is not finite
 */
export async function fetchAdapter(
  connection: Connection,
  source: { readonly modelId: string; readonly name: string },
  directory: string,
): Promise<Adapter> {
  const archive = await download(connection, paths.archive(source.modelId, source.name));
  await mkdir(directory, { recursive: true });
  try {
    if (typeof archive === 'string') await copyAdapter(archive, directory);
    else await pipeline(Readable.from([archive]), extract({ cwd: directory, filter: isWanted }));
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause;
    throw new CheckpointError(
      `The adapter ${source.name} that the Tinker server sent cannot be unpacked: ${describeError(cause)}.`,
      { code: 'TINKER_ARCHIVE', cause },
    );
  }
  const names = await readdir(directory);
  const missing = files.filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw new CheckpointError(
      `The archive of the adapter ${source.name} holds ${names.join(', ') || 'nothing'}, but no ${missing.join(' and no ')}.`,
      { code: 'TINKER_ARCHIVE' },
    );
  const adapter = await readTensors(directory);
  await nameModules(directory, adapter.tensors);
  return adapter;
}

/**
 * Copies the adapter from a local folder. TuFT has no archives and redirects to a `file:` URL of
 * such a folder instead.
 */
async function copyAdapter(folder: string, directory: string): Promise<void> {
  const from = path.join(folder, 'adapter');
  for (const name of files) {
    try {
      await access(path.join(from, name), constants.R_OK);
    } catch (cause) {
      throw new CheckpointError(
        `The Tinker server has saved an adapter in ${from}, and ${name} there cannot be read: ${describeError(cause)}. Run on the same machine, or let both see its checkpoint_dir under the same path.`,
        { code: elsewhereCode, cause },
      );
    }
    await copyFile(path.join(from, name), path.join(directory, name));
  }
}

/**
 * Requests an adapter archive and follows redirects.
 * @returns the bytes of the archive, or the folder to which a `file:` URL redirects
 */
async function download(connection: Connection, first: string): Promise<Uint8Array | string> {
  let address = first;
  for (let i = 0; i <= mostRedirects; i++) {
    const answer: Answer | undefined = await connection.send({
      method: 'GET',
      path: address,
      what: 'send an adapter',
      timeoutMs: downloadMs,
    });
    if (answer === undefined) break;
    if (answer.status < 300) return answer.bytes;
    if (answer.location === undefined) break;
    address = answer.location;
    if (address.startsWith('file:')) return fileURLToPath(address);
  }
  throw new CheckpointError(`The Tinker server sent no adapter from ${first}.`, {
    code: 'TINKER_ARCHIVE',
  });
}

const loose = z.looseObject({ target_modules: z.unknown().optional() });

/**
 * Sets `target_modules` in the adapter's configuration, using the tensor names, if the key is
 * missing. SkyRL omits the key, and PEFT would then infer the modules from the model type.
 */
async function nameModules(directory: string, tensors: Tensors): Promise<void> {
  const file = path.join(directory, 'adapter_config.json');
  const config = loose.parse(JSON.parse(await readFile(file, 'utf8')));
  if (config.target_modules) return;
  const modules = [...tensors.keys()].flatMap((name) => /([^.]+)\.lora_A\./.exec(name)?.[1] ?? []);
  const target_modules = [...new Set(modules)].toSorted();
  await writeFile(file, `${JSON.stringify({ ...config, target_modules }, null, 2)}\n`);
}

/** Values of an adapter, keyed by tensor name. */
export type Tensors = ReadonlyMap<string, Float32Array>;

export interface Adapter {
  readonly tensors: Tensors;
  /**
   * LoRA rank: the smallest number of columns of any `lora_B` matrix. Undefined if the file has no
   * such matrix.
   */
  readonly rank: number | undefined;
}

const header = z.record(
  z.string(),
  z.looseObject({
    dtype: z.string(),
    shape: z.array(z.number()),
    data_offsets: z.tuple([z.number(), z.number()]),
  }),
);

/**
 * Reads a safetensors file. The file contains the header's length (8 bytes), the header as JSON,
 * and the values.
 * @throws CheckpointError if a value is not finite
 */
async function readTensors(directory: string): Promise<Adapter> {
  const bytes = await readFile(path.join(directory, 'adapter_model.safetensors'));
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _about, ...parts } = JSON.parse(
    bytes.subarray(8, start).toString(),
  ) as Record<string, unknown>;
  const entries = Object.entries(header.parse(parts));
  const tensors = entries.map(([name, { dtype, data_offsets }]) => {
    const [from, to] = data_offsets;
    const values = numbersOf(bytes.subarray(start + from, start + to), dtype);
    const bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0)
      throw new CheckpointError(
        `The adapter that the Tinker server sent holds ${values[bad]} in ${name}. Its weights have become NaN: restart it, and start the run again from its last checkpoint.`,
        { code: 'TINKER_NOT_FINITE' },
      );
    return [name, values] as const;
  });
  const ranks = entries.flatMap(([name, { shape }]) =>
    name.includes('lora_B') ? [shape.at(-1) ?? 0] : [],
  );
  return { tensors: new Map(tensors), rank: ranks.length > 0 ? Math.min(...ranks) : undefined };
}

const decoders: Readonly<Record<string, (bytes: ArrayBufferLike) => Float32Array>> = {
  F32: (bytes) => new Float32Array(bytes),
  BF16: (bytes) =>
    new Float32Array(Uint32Array.from(new Uint16Array(bytes), (half) => half << 16).buffer),
  F16: (bytes) => Float32Array.from(new Uint16Array(bytes), numberOfHalf),
};

/**
 * Decodes the values of a tensor. Returns an empty array if `decoders` has no entry for its data
 * type.
 */
function numbersOf(bytes: Buffer, dtype: string): Float32Array {
  const { length, buffer, byteOffset } = bytes;
  return decoders[dtype]?.(buffer.slice(byteOffset, byteOffset + length)) ?? new Float32Array();
}

/**
 * Returns the folder of the adapter in a checkpoint. The embedded engine uses the same folder name.
 */
export const adapterFolder = (checkpoint: string): string => path.join(checkpoint, 'lora_adapter');
