/**
 * Checkpoints of a training run with adapters. A checkpoint is a model folder that contains a
 * folder with the adapters, in PEFT's format, and their optimizer moments. The model folder has
 * either all weights, with the adapters merged in, or none. Reading a folder without weights needs
 * the frozen model, whose path is stored with the adapters.
 */
import { join, resolve } from 'node:path';

import { assertSameModel, loadWeightsOf } from '../storage/checkpoint.js';
import { isFile, writeWhole } from '../storage/files.js';
import { saveModelFiles, saveModelFolder, type ModelFiles } from '../storage/model-folder.js';
import { loadOptimizer, saveOptimizer } from '../storage/optimizer.js';
import {
  adapterFolder,
  baseFile,
  readBaseRecord,
  type BaseRecord,
} from '../storage/base-record.js';
import { hasWeights } from '../storage/weight-files.js';
import type { ModelConfig } from '../model/config.js';
import { parameterSpecs } from '../model/parameters.js';
import type { OptimizerState } from '../train/adamw.js';
import { bytesOf } from '../runtime/host-arrays.js';
import { assertBase, otherAdapters, type BaseModel, type FrozenModel } from './base-model.js';
import type { FrozenWeights } from './frozen-weights.js';
import { loadAdapters, saveAdapters, type AdapterState } from './peft-folder.js';
import { adapterSpecs, adapterTargets, type AdapterPlan, type AdapterTarget } from './plan.js';

export interface AdapterCheckpoint {
  /**
   * All weights, with the adapters merged in; undefined if the checkpoint was saved without them.
   */
  readonly weights?: Float32Array;
  /** Matrices of all adapters in one flat array, in the order of `adapterTargets`. */
  readonly flat: Float32Array;
  /** Optimizer moments; undefined if the checkpoint was saved without them. */
  readonly optimizer?: OptimizerState;
}

export interface SaveAdapterCheckpointOptions extends AdapterState {
  readonly files: ModelFiles;
  /** All weights, with the adapters merged in; undefined to write no weights. */
  readonly weights: Float32Array | undefined;
  /** Folder of the frozen model. */
  readonly modelPath: string;
  readonly optimizer: OptimizerState | undefined;
  readonly base: BaseModel;
}

/** Writes a checkpoint. Equal state gives equal bytes. */
export async function saveAdapterCheckpoint(
  directory: string,
  options: SaveAdapterCheckpointOptions,
): Promise<void> {
  const { files, weights, plan, flat, modelPath, optimizer, base } = options;
  const { config } = files;
  if (weights) await saveModelFolder(directory, files, weights);
  else await saveModelFiles(directory, files);
  // Removes the moments of all parameters, which an earlier save may have left.
  await saveOptimizer(directory, [], undefined);
  const folder = join(directory, adapterFolder);
  await saveAdapters(folder, { config, plan, flat, baseModel: resolve(modelPath) });
  const { quantization } = base;
  const record: BaseRecord = {
    sha256: await base.digest(),
    ...(quantization && { quantization }),
  };
  await writeWhole(join(folder, baseFile), Buffer.from(`${JSON.stringify(record)}\n`));
  await saveOptimizer(folder, adapterSpecs(adapterTargets(config, plan)), optimizer);
}

/**
 * Loads a checkpoint that {@link saveAdapterCheckpoint} wrote. The frozen model must be the one
 * that the checkpoint was saved with.
 * @throws CheckpointError when the folder has other adapters, another base, or no adapters
 */
export async function loadAdapterCheckpoint(
  directory: string,
  {
    config,
    plan,
    base,
  }: {
    readonly base: FrozenModel;
    readonly config: ModelConfig;
    readonly plan: AdapterPlan;
  },
): Promise<AdapterCheckpoint> {
  await assertSameModel(directory, config);
  const folder = join(directory, adapterFolder);
  if (!(await isFile(join(folder, 'adapter_config.json'))))
    throw otherAdapters(
      `${directory} has no ${adapterFolder}: it was written by a run that trains all weights. Use ` +
        'it as the model to start from.',
    );
  const isMerged = base.weights !== undefined && (await hasWeights(directory));
  // Merged weights of an earlier version have no record of their base.
  const isCompared = isMerged && (await readBaseRecord(folder)) === undefined;
  if (!isCompared) await assertBase(folder, base);
  const found = await loadAdapters(folder, config, base);
  assertSamePlan(folder, found.plan, plan);
  const targets = adapterTargets(config, plan);
  const weights = isMerged ? await loadWeightsOf(directory, config) : undefined;
  if (isCompared && weights && base.weights)
    assertSameBase({ directory, config, targets, weights, base: base.weights });
  const optimizer = await loadOptimizer(folder, adapterSpecs(targets));
  return { weights, flat: found.flat, optimizer };
}

/**
 * Checks that the adapters of a folder have the rank, scale and layers of `plan`.
 * @throws CheckpointError when they differ
 */
export function assertSamePlan(folder: string, found: AdapterPlan, plan: AdapterPlan): void {
  const [stored, trained] = [describePlan(found), describePlan(plan)];
  if (stored === trained) return;
  throw otherAdapters(
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
  readonly base: FrozenWeights;
}): void {
  const { directory, config, targets, weights, base } = parts;
  const adapted = new Set(targets.map(({ weight }) => weight.name));
  const other = parameterSpecs(config).find(
    (spec) =>
      !adapted.has(spec.name) &&
      !equal(weights.subarray(spec.offset, spec.offset + spec.size), base.part(spec)),
  );
  if (!other) return;
  throw otherAdapters(
    `${directory} belongs to another model: its ${other.name} differs, and no adapter changes it. ` +
      'Start with the same model.',
  );
}

const equal = (a: Float32Array, b: Float32Array): boolean =>
  Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
