/**
 * Checkpoints of a run that trains adapters: a complete model folder with the adapters merged in, and
 * inside it a folder with the adapters, as PEFT reads them, and their moments.
 */
import { join, resolve } from 'node:path';

import { CheckpointError } from '@trinity-rft/core/internal';

import { adapterFolder, loadWeightsOf } from '../storage/checkpoint.js';
import { isFile } from '../storage/files.js';
import { saveModelFolder, type ModelFiles } from '../storage/model-folder.js';
import { loadOptimizer, saveOptimizer } from '../storage/optimizer.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import type { OptimizerState } from '../train/adamw.js';
import { loadAdapters, saveAdapters, type AdapterState } from './peft-folder.js';
import { adapterSpecs, adapterTargets, type AdapterPlan, type AdapterTarget } from './plan.js';

export interface AdapterCheckpoint {
  /** With the adapters merged in. */
  readonly weights: Float32Array;
  /** All matrices. */
  readonly flat: Float32Array;
  /** Undefined if it was saved without. */
  readonly optimizer?: OptimizerState;
}

export interface SaveAdapterCheckpointOptions extends AdapterState {
  readonly files: ModelFiles;
  /** With the adapters merged in. */
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
  // Removes moments of all parameters that an earlier save may have left.
  await saveOptimizer(directory, [], undefined);
  const folder = join(directory, adapterFolder);
  await saveAdapters(folder, { config, plan, flat, baseModel: resolve(modelPath) });
  await saveOptimizer(folder, adapterSpecs(adapterTargets(config, plan)), optimizer);
}

/**
 * Reads back what {@link saveAdapterCheckpoint} wrote. Weights without an adapter must be as in
 * `base`.
 * @throws CheckpointError when the folder has other adapters, another base, or no adapters
 */
export async function loadAdapterCheckpoint(
  directory: string,
  config: ModelConfig,
  plan: AdapterPlan,
  base: Float32Array,
): Promise<AdapterCheckpoint> {
  const weights = await loadWeightsOf(directory, config);
  const folder = join(directory, adapterFolder);
  if (!(await isFile(join(folder, 'adapter_config.json'))))
    throw mismatch(
      `${directory} has no ${adapterFolder}: it was written by a run that trains all weights. Use ` +
        'it as the model to start from.',
    );
  const found = await loadAdapters(folder, config);
  assertSamePlan(folder, found.plan, plan);
  const targets = adapterTargets(config, plan);
  assertSameBase({ directory, config, targets, weights, base });
  const optimizer = await loadOptimizer(folder, adapterSpecs(targets));
  return { weights, flat: found.flat, optimizer };
}

function assertSamePlan(folder: string, found: AdapterPlan, plan: AdapterPlan): void {
  const [stored, trained] = [describePlan(found), describePlan(plan)];
  if (stored === trained) return;
  throw mismatch(
    `${folder} holds adapters of ${stored}, but the run trains adapters of ${trained}. Set the ` +
      'former, or start a new run.',
  );
}

const describePlan = ({ rank, alpha, modules }: AdapterPlan): string =>
  `rank ${rank}, alpha ${alpha}, ${modules.join(', ')}`;

function assertSameBase(parts: {
  readonly directory: string;
  readonly config: ModelConfig;
  readonly targets: readonly AdapterTarget[];
  readonly weights: Float32Array;
  readonly base: Float32Array;
}): void {
  const { directory, config, targets, weights, base } = parts;
  const adapted = new Set(targets.map(({ weight }) => weight.name));
  const other = parameterSpecs(config).find(
    ({ name, offset, size }) =>
      !adapted.has(name) &&
      !equal(weights.subarray(offset, offset + size), base.subarray(offset, offset + size)),
  );
  if (!other) return;
  throw mismatch(
    `${directory} belongs to another model: its ${other.name} differs, and no adapter changes it. ` +
      'Start with the same model.',
  );
}

const equal = (a: Float32Array, b: Float32Array): boolean =>
  Buffer.compare(bytes(a), bytes(b)) === 0;

const bytes = (array: Float32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function mismatch(message: string): CheckpointError {
  return new CheckpointError(message, { code: 'CHECKPOINT_OTHER_ADAPTERS' });
}
