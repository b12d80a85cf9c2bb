import { join } from 'node:path';

import { refuseQuantized } from './lora/base-model.js';
import { loadModel } from './lora/load-model.js';
import { mergeAdapters } from './lora/open.js';
import { parameterSpecs } from './model/parameters.js';
import type { StoredType } from './storage/dtype.js';
import { fillFolder } from '@trinity-rft/core/support';
import { writeWhole } from './storage/files.js';
import { withStoredType } from './storage/model-folder.js';
import { writeShards } from './storage/shards.js';
import { withTemplate } from './storage/template.js';

/** Data types of safetensors, keyed by their names in config.json. */
const storedTypeNames = {
  float32: 'F32',
  bfloat16: 'BF16',
  float16: 'F16',
} as const satisfies Readonly<Record<string, StoredType>>;

export type StoredTypeName = keyof typeof storedTypeNames;

export interface ConvertModelOptions {
  /** Model folder. */
  readonly from: string;
  /** Folder to create; it may exist if it is empty. */
  readonly to: string;
  /**
   * Folder of a LoRA adapter in PEFT's format, which is merged into the weights.
   * @default no adapter
   */
  readonly adapter?: string;
  /** Data type of the written weights. @default "float32" */
  readonly dtype?: StoredTypeName;
  /**
   * Maximum size of a weight file in bytes; a larger tensor gets a separate file.
   * @default one file
   */
  readonly shardBytes?: number;
  /**
   * Signal that aborts the conversion before and after the weights are read, and while they are
   * written. Partial output is then removed.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface ConvertedModel {
  readonly weights: number;
  /** Total size of the weight files in bytes. */
  readonly bytes: number;
  readonly files: readonly string[];
}

/**
 * Writes a copy of a model folder with a different data type, different shards or a merged adapter.
 * The config, tokenizer and chat template are kept. During the conversion, all weights are in
 * memory as float32.
 * @throws CheckpointError when the model or the adapter cannot be read, the adapter was trained on
 * another model, or a weight is too large for the data type; ConfigError when `to` contains files;
 * the reason of `signal`
 */
export async function convertModel(options: ConvertModelOptions): Promise<ConvertedModel> {
  const { from, to, adapter, dtype = 'float32', shardBytes = Infinity, signal } = options;
  return fillFolder(to, async (folder) => {
    signal?.throwIfAborted();
    if (adapter !== undefined) await refuseQuantized(adapter);
    const { config, configText, companions, weights } = await loadModel(from);
    signal?.throwIfAborted();
    const flat = adapter === undefined ? weights : await mergeAdapters(config, weights, adapter);
    const tensors = parameterSpecs(config).map(({ name, shape, offset, size }) => ({
      name,
      shape,
      data: flat.subarray(offset, offset + size),
    }));
    const written = await writeShards(folder, tensors, {
      type: storedTypeNames[dtype],
      shardBytes,
      signal,
    });
    for (const [name, bytes] of withTemplate(companions))
      await writeWhole(join(folder, name), bytes);
    await writeWhole(join(folder, 'config.json'), Buffer.from(withStoredType(configText, dtype)));
    return { weights: flat.length, ...written };
  });
}
