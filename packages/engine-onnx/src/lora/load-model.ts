/**
 * Loads the weights of models. If a folder contains only adapters, merges them into the weights of
 * their frozen model.
 */
import { join, resolve } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';

import type { ModelConfig } from '../model/config.js';
import { assertSameModel } from '../storage/checkpoint.js';
import { isFile, readIfThere, readObject } from '../storage/files.js';
import {
  checkWeights,
  loadWeights,
  readModelFiles,
  type ModelFolder,
} from '../storage/model-folder.js';
import { hasWeights } from '../storage/weight-files.js';
import { adapterFolder } from '../storage/base-record.js';
import { assertBase, refuseQuantized, type FrozenModel } from './base-model.js';
import { mergeAdapters } from './open.js';

/**
 * Loads a model folder. If it holds only adapters, merges them into the frozen model's weights.
 * @throws CheckpointError as `loadModelFolder`, or when the frozen model cannot be read
 */
export async function loadModel(directory: string): Promise<ModelFolder> {
  const files = await readModelFiles(directory);
  return { ...files, weights: await loadMergedWeights(directory, files.config) };
}

/**
 * Loads the weights of a folder whose model must have the architecture of `config`.
 * @param frozen the frozen model of the folder's adapters, if it is loaded; otherwise it is read
 * from the path stored with the adapters
 */
export async function loadMergedWeightsOf(
  directory: string,
  config: ModelConfig,
  frozen?: FrozenModel,
): Promise<Float32Array> {
  await assertSameModel(directory, config);
  return loadMergedWeights(directory, config, frozen);
}

/**
 * Checks that the weights in a folder match the model's config. Reads only the headers of weight
 * files.
 * @throws CheckpointError when the weights, or those of the frozen model, are missing or do not fit
 */
export async function checkMergedWeights(directory: string, config: ModelConfig): Promise<void> {
  if (await holdsAdapterOnly(directory))
    await checkMergedWeights(await modelBelow(directory), config);
  else await checkWeights(directory, config);
}

async function loadMergedWeights(
  directory: string,
  config: ModelConfig,
  frozen?: FrozenModel,
): Promise<Float32Array> {
  if (!(await holdsAdapterOnly(directory))) return loadWeights(directory, config);
  const adapters = join(directory, adapterFolder);
  await refuseQuantized(adapters);
  if (frozen) await assertBase(adapters, frozen);
  const base =
    frozen?.weights?.all() ?? (await loadMergedWeights(await modelBelow(directory), config));
  return mergeAdapters(config, base, adapters, frozen);
}

const adapterConfig = (directory: string): string =>
  join(directory, adapterFolder, 'adapter_config.json');

export const holdsAdapterOnly = async (directory: string): Promise<boolean> =>
  !(await hasWeights(directory)) && isFile(adapterConfig(directory));

/**
 * Returns the path of the frozen model of a folder that contains only adapters. The frozen model
 * may itself be a folder with only adapters.
 * @param above folders that were followed to this folder, each based on the next one; used to
 * detect cycles
 * @throws CheckpointError when a frozen model has neither weights nor adapters, or a folder is
 * based on itself
 */
export async function modelBelow(
  directory: string,
  above: readonly string[] = [],
): Promise<string> {
  const file = adapterConfig(directory);
  const { base_model_name_or_path: below } = readObject(file, await readIfThere(file));
  const chain = [...above, resolve(directory)];
  if (typeof below === 'string' && !chain.includes(resolve(below))) {
    if (await hasWeights(below)) return below;
    if (await holdsAdapterOnly(below)) return modelBelow(below, chain).then(() => below);
  }
  throw new CheckpointError(
    `${directory} holds only an adapter, and ${String(below)}, the model that it belongs to by ` +
      `${file} (base_model_name_or_path), has no weights. Move it back there, or give its place now: \`trinity convert MODEL OUTPUT --adapter ${join(directory, adapterFolder)}\`.`,
    { code: 'BASE_MODEL_MISSING', details: { directory } },
  );
}
