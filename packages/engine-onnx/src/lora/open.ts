/** Opens adapters for a model: creates new adapters or loads them from a folder. */
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { WeightBuffers } from '../model/weights.js';
import { OnnxRuntime } from '../runtime/onnx-runtime.js';
import { Adapters } from './adapters.js';
import type { BaseModel, FrozenModel } from './base-model.js';
import { digestOfFrozen, plainWeights } from './frozen-weights.js';
import { initialAdapters } from './initial.js';
import { loadAdapters, type AdapterState } from './peft-folder.js';
import { adapterTargets, planAdapters, type LoraOptions } from './plan.js';

export interface OpenAdaptersOptions {
  readonly config: ModelConfig;
  /** Weight buffers of the model. The weights in `training` become the frozen base. */
  readonly weights: WeightBuffers;
  readonly lora: LoraOptions;
  /** See `AdaptersOptions.sharesBase`. */
  readonly sharesBase?: boolean | undefined;
  /**
   * Returns the SHA-256 of the base weights, which must equal the one recorded with stored
   * adapters.
   * @default computed from the training weights when needed
   */
  readonly digest?: BaseModel['digest'] | undefined;
}

/**
 * Opens adapters for a model. Adapters from a folder are merged into the training weights. New
 * adapters need no merging, because they do not change these weights.
 * @throws EngineError when the options do not fit the model, CheckpointError when the adapters in
 * the folder do not
 */
export async function openAdapters({
  config,
  weights,
  lora,
  sharesBase,
  digest = async () => {
    const base = plainWeights(await weights.runtime.readSet(weights.training), {});
    return digestOfFrozen(base, parameterCount(config));
  },
}: OpenAdaptersOptions): Promise<Adapters> {
  const { plan, flat } = await adaptersOf(config, lora, { digest });
  const adapters = await Adapters.open({ config, plan, weights, initial: flat, sharesBase });
  if (!('path' in lora)) return adapters;
  try {
    await adapters.merge();
    return adapters;
  } catch (error) {
    await adapters.close();
    throw error;
  }
}

/**
 * Returns the weights of a model with the adapters of a folder merged in.
 * @param base weights of the model without adapters; may be overwritten unless `frozen` shares them
 * @param frozen the frozen model that `base` is from, if it is loaded
 * @throws CheckpointError as {@link openAdapters}
 */
export async function mergeAdapters(
  config: ModelConfig,
  base: Float32Array,
  path: string,
  frozen?: FrozenModel,
): Promise<Float32Array> {
  const runtime = new OnnxRuntime({ threads: { train: 1, sample: 1 } });
  const weights = new WeightBuffers(runtime, config, base);
  const adapters = await openAdapters({
    config,
    weights,
    lora: { path },
    sharesBase: frozen?.weights?.isShared,
    digest: frozen?.digest,
  });
  await adapters.close();
  return runtime.readSet(weights.training);
}

/**
 * Loads the adapters of a folder, or creates new ones.
 * @throws EngineError and CheckpointError, as {@link openAdapters} does
 */
export async function adaptersOf(
  config: ModelConfig,
  lora: LoraOptions,
  base: BaseModel,
): Promise<AdapterState> {
  return 'path' in lora ? loadAdapters(lora.path, config, base) : newAdapters(config, lora);
}

function newAdapters(
  config: ModelConfig,
  lora: Exclude<LoraOptions, { readonly path: string }>,
): AdapterState {
  const plan = planAdapters(config, lora);
  return { plan, flat: initialAdapters(adapterTargets(config, plan), lora.seed ?? 0) };
}
