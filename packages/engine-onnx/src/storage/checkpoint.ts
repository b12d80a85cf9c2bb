/**
 * Checkpoints for training all weights of a model: a model folder with the optimizer's moments and
 * step counter.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import type { OptimizerState } from '../train/adamw.js';
import { loadWeights, readModelFiles, saveModelFolder, type ModelFiles } from './model-folder.js';
import { loadOptimizer, saveOptimizer } from './optimizer.js';
import { adapterFolder } from './base-record.js';

export interface Checkpoint {
  readonly weights: Float32Array;
  /** Optimizer state; undefined if the folder has no optimizer file. */
  readonly optimizer?: OptimizerState;
}

/**
 * Writes a checkpoint. Equal state gives identical files. The folder is not marked as complete;
 * this is up to the caller.
 */
export async function saveCheckpoint(
  directory: string,
  files: ModelFiles,
  weights: Float32Array,
  optimizer: OptimizerState | undefined,
): Promise<void> {
  await saveModelFolder(directory, files, weights);
  await saveOptimizer(directory, parameterSpecs(files.config), optimizer);
  // Adapters of an earlier save do not belong to these weights.
  await rm(join(directory, adapterFolder), { recursive: true, force: true });
}

/**
 * Loads the weights and the optimizer state of a folder.
 * @throws CheckpointError when the folder is not a checkpoint of this model
 */
export async function loadCheckpoint(directory: string, config: ModelConfig): Promise<Checkpoint> {
  const weights = await loadWeightsOf(directory, config);
  const optimizer = await loadOptimizer(directory, parameterSpecs(config));
  return { weights, optimizer };
}

/** Loads the weights in a folder whose model must have the architecture of `config`. */
export async function loadWeightsOf(directory: string, config: ModelConfig): Promise<Float32Array> {
  await assertSameModel(directory, config);
  return loadWeights(directory, config);
}

/**
 * Checks that the folder holds a model of the architecture in `config`.
 * @throws CheckpointError when its sizes or traits differ
 */
export async function assertSameModel(directory: string, config: ModelConfig): Promise<void> {
  const found = await readModelFiles(directory);
  const differing = architectureKeys.find(
    (key) => JSON.stringify(found.config[key]) !== JSON.stringify(config[key]),
  );
  if (differing === undefined) return;
  throw new CheckpointError(
    `${directory} holds another model: its ${differing} is ` +
      `${JSON.stringify(found.config[differing])}, that of the engine ` +
      `${JSON.stringify(config[differing])}. Load a checkpoint of the model that the engine was ` +
      'created with.',
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
  'rotaryDim',
  'intermediateSize',
  'normEpsilon',
  'ropeTheta',
  'ropeScaling',
  'localRope',
  'convTaps',
  'layerTraits',
  'perLayerInputs',
  'experts',
  'delta',
  'activation',
  'attentionScale',
  'attentionCap',
  'logitCap',
  'embeddingScale',
  'residualScale',
  'logitScale',
  'tieEmbeddings',
] as const satisfies readonly (keyof ModelConfig)[];
