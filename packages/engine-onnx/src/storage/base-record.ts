/**
 * Reads the record of the frozen model, which is stored in checkpoints that contain adapters but no
 * weights.
 */
import { join } from 'node:path';

import type { Quantization } from '@trinity-rft/core/engine';

import { readIfThere, readObject } from './files.js';

/** Folder of the adapters inside a checkpoint, named as in Trinity-RFT. */
export const adapterFolder = 'lora_adapter';

/** File with the digest of the frozen model that the adapter needs. */
export const baseFile = 'base_model.json';

export interface BaseRecord {
  readonly sha256?: unknown;
  /** Quantization of the weights; absent if they are floating point numbers. */
  readonly quantization?: Quantization;
}

/**
 * Reads the record in a folder of adapters. Returns undefined if there is none, because the
 * checkpoint contains all weights or because another program wrote it.
 */
export async function readBaseRecord(adapters: string): Promise<BaseRecord | undefined> {
  const file = join(adapters, baseFile);
  const text = await readIfThere(file);
  return text && (readObject(file, text) as BaseRecord);
}
