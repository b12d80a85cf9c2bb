/**
 * Which part of an engine is trained, and how it is stored in checkpoints: all weights, or adapters
 * on top of frozen ones.
 */
import { loadCheckpoint, saveCheckpoint } from '../storage/checkpoint.js';
import type { ModelFiles } from '../storage/model-folder.js';
import { loadAdapterCheckpoint, saveAdapterCheckpoint } from '../lora/checkpoint.js';
import { openAdapters } from '../lora/open.js';
import type { WeightBuffers } from '../model/weights.js';
import type { OptimizerState } from '../train/adamw.js';
import { allParameters, type Trainable } from '../train/trainable.js';
import type { WorkerOptions } from '../protocol/engine-calls.js';

export interface TrainingState {
  readonly trainable: Trainable;
  /** Writes the training weights, and the moments if they are given. */
  save(directory: string, optimizer: OptimizerState | undefined): Promise<void>;
  /**
   * Reads the training weights back. Resolves with the moments, if there are some.
   * @throws CheckpointError when it is of another state
   */
  load(directory: string): Promise<OptimizerState | undefined>;
  close(): Promise<void>;
}

/** @throws EngineError, CheckpointError when adapters do not fit the model */
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
    save: (directory, optimizer) =>
      saveCheckpoint(directory, files, weights.training.flat, optimizer),
    load: async (directory) => {
      const found = await loadCheckpoint(directory, config);
      weights.update((_, to) => to.set(found.weights));
      return found.optimizer;
    },
    close: () => Promise.resolve(),
  };
}

async function adapterState(
  { modelPath, lora, threads }: WorkerOptions & Required<Pick<WorkerOptions, 'lora'>>,
  files: ModelFiles,
  weights: WeightBuffers,
): Promise<TrainingState> {
  const { config } = files;
  const adapters = await openAdapters({ config, weights, lora, threads });
  const { plan, flat, base } = adapters;
  return {
    trainable: adapters,
    save: (directory, optimizer) =>
      saveAdapterCheckpoint(directory, {
        files,
        plan,
        flat,
        weights: weights.training.flat,
        modelPath,
        optimizer,
      }),
    load: async (directory) => {
      const found = await loadAdapterCheckpoint(directory, config, plan, base);
      await adapters.restore(found.flat, found.weights);
      return found.optimizer;
    },
    close: () => adapters.close(),
  };
}
