/** Writes weights to one safetensors file, or to several files with Hugging Face's index. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import { largestOf, storedTypes, type StoredType } from './dtype.js';
import { writeWhole } from './files.js';
import { writeSafetensors, type NamedTensor, type WriteOptions } from './safetensors.js';
import { singleWeightFile, weightIndexFile } from './weight-files.js';

interface ShardOptions extends Pick<WriteOptions, 'signal'> {
  readonly type: StoredType;
  readonly shardBytes: number;
}

/**
 * Writes the tensors, in order, to files with at most `shardBytes` bytes of tensor data each. A
 * larger tensor gets a separate file.
 * @throws CheckpointError when a weight is too large for the type; the reason of `signal`
 */
export async function writeShards(
  directory: string,
  tensors: readonly NamedTensor[],
  { type, shardBytes, signal }: ShardOptions,
): Promise<{ readonly bytes: number; readonly files: readonly string[] }> {
  for (const tensor of tensors) assertFits(tensor, type, 'bfloat16 or float32');
  const shards = split(tensors, ({ data }) => data.length * storedTypes[type], shardBytes);
  const files = shards.map((_, index) => fileName(index, shards.length));
  let bytes = 0;
  for (const [index, shard] of shards.entries()) {
    const file = join(directory, files[index] ?? '');
    await writeSafetensors(file, shard, { type, signal });
    bytes += (await stat(file)).size;
  }
  if (files.length > 1) await writeIndex(directory, shards, files, type);
  return { bytes, files };
}

/**
 * Checks that all finite elements of a tensor are in the range of `type`.
 * @param instead data types with a larger range, which the message suggests
 * @throws CheckpointError that names the tensor
 */
export function assertFits(
  { name, data }: Pick<NamedTensor, 'name' | 'data'>,
  type: StoredType,
  instead: string,
): void {
  const limit = largestOf[type];
  const large = data.find((value) => Math.abs(value) > limit && Number.isFinite(value));
  if (large === undefined) return;
  throw new CheckpointError(
    `A weight of ${name} is ${large}, and ${type} ends at ${limit}. Use ${instead}.`,
    { code: 'WEIGHTS_TYPE', details: { tensor: name } },
  );
}

/** Splits items in order into shards, each as full as possible. */
function split<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limit: number,
): readonly (readonly Item[])[] {
  const shards: Item[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = bytesOf(item);
    if (bytes + size > limit || shards.length === 0) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)?.push(item);
    bytes += size;
  }
  return shards;
}

const fileName = (index: number, count: number): string => {
  const five = (value: number): string => String(value).padStart(5, '0');
  return count === 1 ? singleWeightFile : `model-${five(index + 1)}-of-${five(count)}.safetensors`;
};

async function writeIndex(
  directory: string,
  shards: readonly (readonly NamedTensor[])[],
  files: readonly string[],
  type: StoredType,
): Promise<void> {
  const weightMap = Object.fromEntries(
    shards.flatMap((shard, index) => shard.map(({ name }) => [name, files[index]])),
  );
  const count = shards.flat().reduce((sum, { data }) => sum + data.length, 0);
  const index = {
    metadata: { total_size: count * storedTypes[type] },
    weight_map: weightMap,
  };
  const text = `${JSON.stringify(index, null, 2)}\n`;
  await writeWhole(join(directory, weightIndexFile), Buffer.from(text));
}
