/** The models that the benches run, and their sizes. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  completeConfig,
  type NewModelConfig,
} from '../../packages/engine-onnx/src/storage/new-model.ts';
import { parameterCount } from '../../packages/engine-onnx/src/model/parameters.ts';

export const benchModels = {
  small: {
    vocabSize: 128,
    hiddenSize: 128,
    layers: 4,
    heads: 4,
    kvHeads: 2,
    headDim: 32,
    intermediateSize: 384,
    maxPositions: 512,
  },
  medium: {
    vocabSize: 2048,
    hiddenSize: 320,
    layers: 8,
    heads: 5,
    kvHeads: 5,
    headDim: 64,
    intermediateSize: 896,
    maxPositions: 1024,
  },
  vocabulary: {
    vocabSize: 151_936,
    hiddenSize: 512,
    layers: 1,
    heads: 8,
    kvHeads: 4,
    headDim: 64,
    intermediateSize: 1536,
    maxPositions: 1024,
  },
} satisfies Record<string, NewModelConfig>;
export type BenchModel = keyof typeof benchModels;

export const sizeOf = (name: BenchModel): number =>
  parameterCount(completeConfig(benchModels[name]));

/**
 * Calls `work` with a temporary folder of random weights. A separate process creates the folder, so that the memory for
 * creating it is not counted as the engine's.
 */
export async function withModel<T>(
  name: BenchModel,
  work: (modelPath: string) => Promise<T>,
): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), 'engine-bench-'));
  try {
    const directory = join(root, 'model');
    spawnSync(
      process.execPath,
      [
        ...process.execArgv,
        fileURLToPath(new URL('./create-model.ts', import.meta.url)),
        name,
        directory,
      ],
      {
        stdio: 'inherit',
      },
    );
    return await work(directory);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
