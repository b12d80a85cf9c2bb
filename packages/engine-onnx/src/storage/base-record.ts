/** Reads the record of the frozen model that the adapter of a checkpoint belongs to. */
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
 * Reads the record in a folder of adapters. Returns undefined if there is none: another program
 * wrote the adapters, or they lie beside merged weights in a checkpoint of an earlier version.
 */
export async function readBaseRecord(adapters: string): Promise<BaseRecord | undefined> {
  const file = join(adapters, baseFile);
  const text = await readIfThere(file);
  return text && (readObject(file, text) as BaseRecord);
}
