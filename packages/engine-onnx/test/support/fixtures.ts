/** Reads the batches and tensors that Python wrote for comparison, and measures differences. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { TokenBatch } from '@trinity-rft/core/engine';

import { openSafetensors, type NamedTensor } from '../../src/storage/safetensors.js';

interface BatchFile {
  readonly rows: readonly {
    readonly tokens: readonly number[];
    readonly promptLength: number;
    readonly temperature: number;
  }[];
  readonly optimizer: {
    readonly learningRate: number;
    readonly betas: readonly [number, number];
    readonly epsilon: number;
    readonly weightDecay: number;
    readonly clipGradNorm: number;
    readonly steps: number;
  };
}

/** The rows from which the numbers of a folder were computed, and the options of the optimizer. */
export async function readBatch(
  folder: string,
): Promise<{ readonly batch: TokenBatch; readonly optimizer: BatchFile['optimizer'] }> {
  const { rows, optimizer } = JSON.parse(
    await readFile(join(folder, 'batch.json'), 'utf8'),
  ) as BatchFile;
  return {
    batch: { rows: rows.map((row) => ({ ...row, tokens: Int32Array.from(row.tokens) })) },
    optimizer,
  };
}

/** All tensors of a file by name. */
export async function readTensors(path: string): Promise<ReadonlyMap<string, NamedTensor>> {
  const file = await openSafetensors(path);
  const found = new Map<string, NamedTensor>();
  for (const [name, { shape }] of file.tensors) {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
    await file.read(name, data);
    found.set(name, { name, shape, data });
  }
  await file.close();
  return found;
}

/** Largest |a - b|. */
export const distance = (a: Float32Array, b: Float32Array): number =>
  a.reduce((max, x, i) => Math.max(max, Math.abs(x - b[i]!)), 0);

/** Largest |a|. */
export const largest = (a: Float32Array): number =>
  a.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
