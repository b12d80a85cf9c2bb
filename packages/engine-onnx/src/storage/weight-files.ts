/**
 * Finds the weights of a model: in a GGUF file, or in the model's folder, as one safetensors file
 * or as several files with an index.
 */
import { basename, join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import { repeatedKey } from '@trinity-rft/core/support';
import { isGguf, openGgufModel, type FileTensor, type TensorLevels } from '@trinity-rft/chat/gguf';
import { z } from 'zod';

import { adapterFolder, readBaseRecord } from './base-record.js';
import { isFile, readIfThere } from './files.js';
import { assertFiniteTensor, openSafetensors, type SafetensorsFile } from './safetensors.js';

interface TensorHead {
  readonly shape: readonly number[];
  /** True if each `read` decodes the whole tensor. @default false */
  readonly isReordered?: boolean;
}

/** A file that holds tensors. */
export interface WeightFile {
  /** File name without its folder, for messages. */
  readonly file: string;
  readonly tensors: ReadonlyMap<string, TensorHead>;
  /**
   * Fills `into` with elements of a tensor, in row-major order and converted to float32.
   * @param start index of the first element, at the start of a row. @default 0
   * @throws CheckpointError when a number is NaN or infinite
   */
  read(name: string, into: Float32Array, start?: number): Promise<void>;
  /**
   * Returns the quantised blocks of a tensor, or undefined if the tensor is not quantised. Not
   * implemented by safetensors files.
   * @throws CheckpointError when a scale is NaN or infinite
   */
  readLevels?(name: string): TensorLevels | undefined;
  /**
   * Returns a tensor in the format of the file, if it is smaller there than in float32. Absent for
   * safetensors.
   */
  stored?(name: string): FileTensor | undefined;
}

export const singleWeightFile = 'model.safetensors';
export const weightIndexFile = 'model.safetensors.index.json';

const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

/** The tensors of a model, keyed by name, each with the file that contains it. */
export interface WeightFiles {
  readonly tensors: ReadonlyMap<string, WeightFile>;
  close(): Promise<void>;
}

/**
 * Opens the weight files of a model folder, or a GGUF file.
 * @throws CheckpointError when there are no weights, or a shard lacks a tensor that the index names
 */
export async function openWeightFiles(directory: string): Promise<WeightFiles> {
  if (isGguf(directory)) return openGgufWeights(directory);
  const single = join(directory, singleWeightFile);
  if (await isFile(single)) return openSafetensorsFiles([single]);
  const index = join(directory, weightIndexFile);
  if (await isFile(index)) return openShards(directory, index);
  const adapter = (await isFile(join(directory, adapterFolder, 'adapter_config.json')))
    ? ` It holds an adapter alone${await waysOn(directory)}`
    : '';
  throw new CheckpointError(
    `${directory} holds neither ${singleWeightFile} nor ${weightIndexFile}; expected a Hugging ` +
      `Face model folder with safetensors weights.${adapter}`,
    { code: 'WEIGHTS_MISSING', details: { directory } },
  );
}

async function waysOn(directory: string): Promise<string> {
  const { quantization } = (await readBaseRecord(join(directory, adapterFolder))) ?? {};
  return quantization === undefined
    ? ': `trinity convert` writes the model with the adapter merged in.'
    : `, trained beside quantised weights (model.quantization: ${quantization}), with which it cannot be merged: ` +
        '`trinity export --to gguf --adapter-only` writes it.';
}

/** Returns true if a folder contains weights, or if the path names a GGUF file. */
export async function hasWeights(directory: string): Promise<boolean> {
  const files = [singleWeightFile, weightIndexFile].map((name) => join(directory, name));
  return isGguf(directory) || (await Promise.all(files.map(isFile))).includes(true);
}

async function openShards(directory: string, index: string): Promise<WeightFiles> {
  const shardOf = await readIndex(index);
  const names = [...new Set(Object.values(shardOf))].toSorted();
  const opened = await openSafetensorsFiles(names.map((name) => join(directory, name)));
  const missing = Object.entries(shardOf).find(
    ([tensor, file]) => opened.tensors.get(tensor)?.file !== file,
  );
  if (missing === undefined) return opened;
  await opened.close();
  throw new CheckpointError(
    `${index} names ${missing[1]} as the file of tensor ${missing[0]}, which it does not contain. ` +
      'Copy or download the folder again.',
    { code: 'WEIGHTS_BROKEN', details: { tensor: missing[0], file: missing[1] } },
  );
}

async function readIndex(index: string): Promise<Record<string, string>> {
  const text = String(await readIfThere(index));
  try {
    const { weight_map: shardOf } = indexSchema.parse(JSON.parse(text));
    const repeated = repeatedKey(text);
    if (repeated === undefined) return shardOf;
    throw new Error(`It names ${repeated.key} twice.`);
  } catch (cause) {
    throw new CheckpointError(
      `${index} is not an index of safetensors shards: expected JSON with a "weight_map".`,
      { code: 'WEIGHTS_BROKEN', cause },
    );
  }
}

/**
 * Opens several safetensors files as the weights of one model.
 * @throws CheckpointError when a file is damaged, or two files contain the same tensor
 */
export async function openSafetensorsFiles(paths: readonly string[]): Promise<WeightFiles> {
  const files: SafetensorsFile[] = [];
  const close = async (): Promise<void> =>
    void (await Promise.all(files.map((file) => file.close())));
  try {
    for (const path of paths) files.push(await openSafetensors(path));
    assertNoneTwice(files, paths);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    tensors: new Map(
      files.flatMap((file) => [...file.tensors.keys()].map((name) => [name, file] as const)),
    ),
    close,
  };
}

function assertNoneTwice(files: readonly SafetensorsFile[], paths: readonly string[]): void {
  const seen = new Map<string, string>();
  for (const [i, { file, tensors }] of files.entries())
    for (const name of tensors.keys()) {
      const other = seen.get(name);
      if (other !== undefined)
        throw new CheckpointError(
          `${paths[i]} holds tensor ${name}, and so does ${other}. Copy or download the folder again.`,
          { code: 'WEIGHTS_BROKEN', details: { tensor: name, file } },
        );
      seen.set(name, file);
    }
}

function openGgufWeights(path: string): WeightFiles {
  const model = openGgufModel(path);
  const { tensors } = model;
  const file: WeightFile = {
    file: basename(path),
    tensors,
    read: async (name, into, start) => {
      tensors.get(name)?.read(into, start);
      assertFiniteTensor(path, name, into);
    },
    readLevels: (name) => {
      const levels = tensors.get(name)?.readLevels();
      return levels && finiteScales(path, name, levels);
    },
    stored: (name) => tensors.get(name)?.stored(),
  };
  return {
    tensors: new Map([...tensors.keys()].map((name) => [name, file])),
    close: async () => model.close(),
  };
}

function finiteScales(path: string, name: string, levels: TensorLevels): TensorLevels {
  assertFiniteTensor(path, name, levels.scales);
  if (levels.offsets) assertFiniteTensor(path, name, levels.offsets);
  return levels;
}
