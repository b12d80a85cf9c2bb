/** Finds the safetensors files of a model folder: one file, or the shards that an index names. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core/internal';
import { z } from 'zod';

import { isFile } from './files.js';
import { openSafetensors, type SafetensorsFile } from './safetensors.js';

export const singleWeightFile = 'model.safetensors';
const weightIndexFile = 'model.safetensors.index.json';

const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

/** The tensors of a folder, by name, each with the file that holds it. */
export interface WeightFiles {
  readonly tensors: ReadonlyMap<string, SafetensorsFile>;
  close(): Promise<void>;
}

/**
 * @throws CheckpointError when there are no weights, or a shard lacks a tensor that the index names
 */
export async function openWeightFiles(directory: string): Promise<WeightFiles> {
  const single = join(directory, singleWeightFile);
  if (await isFile(single)) return openAll([single]);
  const index = join(directory, weightIndexFile);
  if (await isFile(index)) return openShards(directory, index);
  throw new CheckpointError(
    `${directory} holds neither ${singleWeightFile} nor ${weightIndexFile}; expected a Hugging ` +
      'Face model folder with safetensors weights.',
    { code: 'WEIGHTS_MISSING', details: { directory } },
  );
}

async function openShards(directory: string, index: string): Promise<WeightFiles> {
  const shardOf = await readIndex(index);
  const names = [...new Set(Object.values(shardOf))].toSorted();
  const opened = await openAll(names.map((name) => join(directory, name)));
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
  try {
    return indexSchema.parse(JSON.parse(await readFile(index, 'utf8'))).weight_map;
  } catch (cause) {
    throw new CheckpointError(
      `${index} is not an index of safetensors shards: expected JSON with a "weight_map".`,
      { code: 'WEIGHTS_BROKEN', cause },
    );
  }
}

async function openAll(paths: readonly string[]): Promise<WeightFiles> {
  const files: SafetensorsFile[] = [];
  const close = async (): Promise<void> =>
    void (await Promise.all(files.map((file) => file.close())));
  try {
    for (const path of paths) files.push(await openSafetensors(path));
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
