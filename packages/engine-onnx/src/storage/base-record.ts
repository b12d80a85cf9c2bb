/** About the model below the adapter of a checkpoint that has no weights of its own. */
import { join } from 'node:path';

import type { Quantization } from '@trinity-rft/core/engine';

import { readIfThere } from './files.js';

/** Folder of the adapters inside a checkpoint; Trinity-RFT's name. */
export const adapterFolder = 'lora_adapter';

/** Digest of the frozen model, without whose weights an adapter means nothing. */
export const baseFile = 'base_model.json';

export interface BaseRecord {
  readonly sha256?: unknown;
  /** Absent: the weights are floating point numbers. */
  readonly quantization?: Quantization;
}

/** Empty where the folder has no such file. */
export async function readBaseRecord(directory: string): Promise<BaseRecord> {
  const text = await readIfThere(join(directory, adapterFolder, baseFile));
  return JSON.parse(String(text ?? '{}')) as BaseRecord;
}
