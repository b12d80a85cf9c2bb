/**
 * Checkpoints of a run that trains adapters: a complete model folder with the adapters merged in,
 * which opens wherever a model does, and in it a folder with the adapters themselves, as PEFT reads
 * them, and their moments.
 */
import { join, resolve } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import { adapterFolder, loadWeightsOf } from '../storage/checkpoint.js';
import { isFile } from '../storage/files.js';
import { saveModelFolder, type ModelFiles } from '../storage/model-folder.js';
import { loadOptimizer, saveOptimizer } from '../storage/optimizer.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import type { OptimizerState } from '../train/adamw.js';
import { loadAdapters, saveAdapters, type AdapterState } from './peft-folder.js';
import { adapterSpecs, adapterTargets, type AdapterPlan } from './plan.js';

export interface AdapterCheckpoint {
  /** With the adapters in them. */
  readonly weights: Float32Array;
  /** All matrices. */
  readonly flat: Float32Array;
  /** Absent where it was saved without. */
  readonly optimizer?: OptimizerState;
}

export interface SaveAdapterCheckpointOptions extends AdapterState {
  readonly files: ModelFiles;
  /** With the adapters in them. */
  readonly weights: Float32Array;
  /** Folder of the frozen model. */
  readonly modelPath: string;
  readonly optimizer: OptimizerState | undefined;
}

/** Equal state gives equal bytes. */
export async function saveAdapterCheckpoint(
  directory: string,
  options: SaveAdapterCheckpointOptions,
): Promise<void> {
  const { files, weights, plan, flat, modelPath, optimizer } = options;
  const { config } = files;
  await saveModelFolder(directory, files, weights);
  // Moments of all parameters, if an earlier save left some.
  await saveOptimizer(directory, [], undefined);
  const folder = join(directory, adapterFolder);
  await saveAdapters(folder, { config, plan, flat, baseModel: resolve(modelPath) });
  await saveOptimizer(folder, adapterSpecs(adapterTargets(config, plan)), optimizer);
}

/**
 * Reads back what {@link saveAdapterCheckpoint} wrote. What is not adapted must be as in `base`.
 * @throws CheckpointError when the folder is of other adapters, another base or a run without
 * adapters
 */
export async function loadAdapterCheckpoint(
  directory: string,
  config: ModelConfig,
  plan: AdapterPlan,
  base: Float32Array,
): Promise<AdapterCheckpoint> {
  const weights = await loadWeightsOf(directory, config);
  const folder = join(directory, adapterFolder);
  if (!(await isFile(join(folder, 'adapter_config.json')))) {
    throw mismatch(
      `${directory} has no ${adapterFolder}: it was written by a run that trains all weights. Give it as the model to begin with.`,
    );
  }
  const found = await loadAdapters(folder, config);
  const describe = ({ rank, alpha, modules }: AdapterPlan): string =>
    `rank ${rank}, alpha ${alpha}, ${modules.join(', ')}`;
  if (describe(found.plan) !== describe(plan))
    throw mismatch(
      `${folder} holds adapters of ${describe(found.plan)}, but those that are trained are of ${describe(plan)}. Set these, or begin anew.`,
    );
  const targets = adapterTargets(config, plan);
  const adapted = new Set(targets.map(({ weight }) => weight.name));
  const other = parameterSpecs(config).find(
    ({ name, offset, size }) =>
      !adapted.has(name) &&
      !equal(weights.subarray(offset, offset + size), base.subarray(offset, offset + size)),
  );
  if (other)
    throw mismatch(
      `${directory} belongs to another model: its ${other.name} differs, and no adapter changes it. Begin with the same model.`,
    );
  const optimizer = await loadOptimizer(folder, adapterSpecs(targets));
  return { weights, flat: found.flat, ...(optimizer && { optimizer }) };
}

const equal = (a: Float32Array, b: Float32Array): boolean =>
  Buffer.compare(bytes(a), bytes(b)) === 0;

const bytes = (array: Float32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function mismatch(message: string): CheckpointError {
  return new CheckpointError(message, { code: 'CHECKPOINT_OTHER_ADAPTERS' });
}
