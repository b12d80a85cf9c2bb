/** Record of the frozen model to which the adapter of a checkpoint without weights belongs. */
import { join } from 'node:path';

import type { Quantization } from '@trinity-rft/core/engine';

import { readIfThere } from './files.js';

/** Folder of the adapters inside a checkpoint, named as in Trinity-RFT. */
export const adapterFolder = 'lora_adapter';

/** File with the digest of the frozen model that the adapter needs. */
export const baseFile = 'base_model.json';

export interface BaseRecord {
  readonly sha256?: unknown;
  /** Quantization of the weights; absent if they are floating point numbers. */
  readonly quantization?: Quantization;
}

/** Reads the record of a folder; empty if the folder has none. */
export async function readBaseRecord(directory: string): Promise<BaseRecord> {
  const text = await readIfThere(join(directory, adapterFolder, baseFile));
  return JSON.parse(String(text ?? '{}')) as BaseRecord;
}
