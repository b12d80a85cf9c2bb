/** Checkpoints: a model folder, with the optimizer's moments and counter beside the weights. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import type { ModelConfig } from '../model/config.js';
import type { OptimizerState } from '../train/adamw.js';
import { blankOptimizer, momentTensors } from '../train/optimizer-file.js';
import { isFile } from './files.js';
import { loadWeights, readModelFiles, saveModelFolder, type ModelFiles } from './model-folder.js';
import { openSafetensors, writeSafetensors, type SafetensorsFile } from './safetensors.js';

const optimizerFile = 'optimizer.safetensors';
const optimizerFormat = 'trinity-rft-adamw-1';

export interface Checkpoint {
  readonly weights: Float32Array;
  /** Absent where the folder has no optimizer file. */
  readonly optimizer?: OptimizerState;
}

/** Equal state gives equal bytes. The caller decides when the folder counts as complete. */
export async function saveCheckpoint(
  directory: string,
  files: ModelFiles,
  weights: Float32Array,
  optimizer: OptimizerState | undefined,
): Promise<void> {
  await saveModelFolder(directory, files, weights);
  const path = join(directory, optimizerFile);
  if (optimizer === undefined) {
    // What an earlier save left here does not belong to these weights.
    await rm(path, { force: true });
    return;
  }
  const metadata = { format: optimizerFormat, step: String(optimizer.step) };
  await writeSafetensors(path, momentTensors(files.config, optimizer), { metadata });
}

/** @throws CheckpointError when the folder is not a checkpoint of this model */
export async function loadCheckpoint(directory: string, config: ModelConfig): Promise<Checkpoint> {
  const weights = await loadWeightsOf(directory, config);
  const path = join(directory, optimizerFile);
  if (!(await isFile(path))) return { weights };
  const file = await openSafetensors(path);
  try {
    return { weights, optimizer: await readOptimizer(path, file, config) };
  } finally {
    await file.close();
  }
}

/** The weights of a folder that must hold the same model, differently trained. */
export async function loadWeightsOf(directory: string, config: ModelConfig): Promise<Float32Array> {
  const found = await readModelFiles(directory);
  const differing = architectureKeys.find((key) => JSON.stringify(found.config[key]) !== JSON.stringify(config[key]));
  if (differing === undefined) return loadWeights(directory, config);
  throw new CheckpointError(
    `${directory} holds another model: its ${differing} is ${JSON.stringify(found.config[differing])}, that of the engine ${JSON.stringify(config[differing])}. ` +
      'Load a checkpoint of the model that the engine was created with.',
    { code: 'CHECKPOINT_OTHER_MODEL', details: { key: differing } },
  );
}

const architectureKeys = [
  'family',
  'vocabSize',
  'hiddenSize',
  'layers',
  'heads',
  'kvHeads',
  'headDim',
  'intermediateSize',
  'normEpsilon',
  'ropeTheta',
  'ropeScaling',
  'tieEmbeddings',
] as const satisfies readonly (keyof ModelConfig)[];

async function readOptimizer(path: string, file: SafetensorsFile, config: ModelConfig): Promise<OptimizerState> {
  const step = Number(file.metadata['step']);
  if (file.metadata['format'] !== optimizerFormat || !Number.isInteger(step))
    throw notOptimizer(path, `its metadata do not say ${optimizerFormat} and a step`);
  const state = blankOptimizer(config, step);
  for (const { name, shape, data } of momentTensors(config, state)) {
    const found = file.tensors.get(name);
    if (found === undefined) throw notOptimizer(path, `tensor ${name} of shape [${shape.join(', ')}] is missing`);
    if (found.shape.join() !== shape.join())
      throw notOptimizer(path, `tensor ${name} has shape [${found.shape.join(', ')}] instead of [${shape.join(', ')}]`);
    await file.read(name, data);
  }
  return state;
}

function notOptimizer(path: string, why: string): CheckpointError {
  return new CheckpointError(`${path} does not hold the optimizer of this model: ${why}. Delete the file to begin with fresh moments.`, {
    code: 'OPTIMIZER_MISMATCH',
  });
}
