/**
 * The trained part of an engine, and how it is stored in checkpoints. Either all weights are
 * trained, or adapters on top of frozen weights.
 */
import { lazily } from '@trinity-rft/core/support';

import { saveCheckpoint } from '../storage/checkpoint.js';
import type { ModelFiles } from '../storage/model-folder.js';
import { loadOptimizer } from '../storage/optimizer.js';
import { loadAdapterCheckpoint, saveAdapterCheckpoint } from '../lora/checkpoint.js';
import { digestOfFrozen } from '../lora/frozen-weights.js';
import { loadMergedWeightsOf } from '../lora/load-model.js';
import { openAdapters } from '../lora/open.js';
import { parameterCount, parameterSpecs } from '../model/parameters.js';
import type { WeightBuffers } from '../model/weights.js';
import type { SamplerKernels } from '../sample/kernels.js';
import type { OptimizerState } from '../train/adamw.js';
import { allParameters, type Trainable } from '../train/trainable.js';
import type { WorkerOptions } from '../protocol/options.js';

export interface TrainingState {
  readonly trainable: Trainable;
  /**
   * Writes a checkpoint with the training weights and, if they are given, the optimizer's moments.
   */
  save(directory: string, contents: SavedContents): Promise<void>;
  /**
   * Restores the training weights from a checkpoint. Resolves with the optimizer's moments, or
   * undefined if the checkpoint has none.
   * @throws CheckpointError when the checkpoint belongs to another model or other adapters
   */
  load(directory: string): Promise<OptimizerState | undefined>;
  /**
   * Reads the weights of a checkpoint without restoring them. Adapters are merged into the weights;
   * if the weights are quantised, returns only the adapters.
   */
  read(directory: string): Promise<Float32Array>;
  /**
   * The sampler's graphs, if sampler and trainer use the same graphs.
   * @default undefined: the sampler has separate graphs
   */
  readonly kernels?: SamplerKernels;
  close(): Promise<void>;
}

interface SavedContents {
  readonly optimizer: OptimizerState | undefined;
  /**
   * True to save the whole model as well, with the adapters merged in. Has an effect only if
   * adapters are trained.
   */
  readonly merged: boolean;
}

/**
 * Opens the adapters to train. Without adapters, returns the state for training all weights.
 * @throws EngineError if new adapters do not fit the model; CheckpointError if stored adapters do
 * not
 */
export function openTrainingState(
  options: WorkerOptions,
  files: ModelFiles,
  weights: WeightBuffers,
): Promise<TrainingState> {
  return options.lora
    ? adapterState({ ...options, lora: options.lora }, files, weights)
    : Promise.resolve(fullState(files, weights));
}

function fullState(files: ModelFiles, weights: WeightBuffers): TrainingState {
  const { config } = files;
  return {
    trainable: allParameters(config, weights),
    save: async (directory, { optimizer }) => {
      const flat = await weights.runtime.readSet(weights.training);
      await saveCheckpoint(directory, files, flat, optimizer);
    },
    load: async (directory) => {
      const found = await loadMergedWeightsOf(directory, config);
      const optimizer = await loadOptimizer(directory, parameterSpecs(config));
      weights.update(found);
      return optimizer;
    },
    read: (directory) => loadMergedWeightsOf(directory, config),
    close: () => Promise.resolve(),
  };
}

async function adapterState(
  { modelPath, lora, reference }: WorkerOptions & Required<Pick<WorkerOptions, 'lora'>>,
  files: ModelFiles,
  weights: WeightBuffers,
): Promise<TrainingState> {
  const { config } = files;
  const sharesBase = reference;
  const adapters = await openAdapters({ config, weights, lora, sharesBase });
  const { plan } = adapters;
  const { runtime } = weights;
  const base = {
    weights: adapters.base,
    digest: lazily(() => digestOfFrozen(adapters.base, parameterCount(config))).get,
  };
  return {
    trainable: adapters,
    save: async (directory, { optimizer, merged }) => {
      if (merged) await weights.settled();
      await saveAdapterCheckpoint(directory, {
        files,
        plan,
        flat: await runtime.readSet(adapters.set),
        weights: merged ? await runtime.readSet(weights.training) : undefined,
        modelPath,
        optimizer,
        base,
      });
    },
    load: async (directory) => {
      const found = await loadAdapterCheckpoint(directory, { config, plan, base });
      await adapters.restore(found.flat, found.weights);
      return found.optimizer;
    },
    read: (directory) => loadMergedWeightsOf(directory, config, base),
    close: () => adapters.close(),
  };
}
