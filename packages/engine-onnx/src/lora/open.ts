/** Opens adapters on a model: new ones, or those of a folder. */
import type { ModelConfig } from '../model/config.js';
import type { WeightBuffers } from '../model/weights.js';
import { Adapters } from './adapters.js';
import { initialAdapters } from './initial.js';
import { loadAdapters, type AdapterState } from './peft-folder.js';
import { adapterTargets, planAdapters, type LoraOptions } from './plan.js';

export interface OpenAdaptersOptions {
  readonly config: ModelConfig;
  /** Its training set becomes the base. */
  readonly weights: WeightBuffers;
  readonly lora: LoraOptions;
  readonly threads: number;
  /** See `AdaptersOptions`. */
  readonly sharesBase?: boolean | undefined;
}

/**
 * Afterwards the training weights have the adapters merged in; new adapters change nothing.
 * @throws EngineError when the options do not fit the model, CheckpointError when the folder does
 * not
 */
export async function openAdapters({
  config,
  weights,
  lora,
  threads,
  sharesBase,
}: OpenAdaptersOptions): Promise<Adapters> {
  const { plan, flat } = await adaptersOf(config, lora);
  const adapters = new Adapters({ config, plan, weights, initial: flat, threads, sharesBase });
  if ('path' in lora) await adapters.merge();
  return adapters;
}

/** Adapters of a folder, or new ones. @throws as {@link openAdapters} */
export async function adaptersOf(config: ModelConfig, lora: LoraOptions): Promise<AdapterState> {
  return 'path' in lora ? loadAdapters(lora.path, config) : newAdapters(config, lora);
}

function newAdapters(
  config: ModelConfig,
  lora: Exclude<LoraOptions, { readonly path: string }>,
): AdapterState {
  const plan = planAdapters(config, lora);
  return { plan, flat: initialAdapters(adapterTargets(config, plan), lora.seed ?? 0) };
}
