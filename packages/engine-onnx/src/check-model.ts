import type { ModelCheck } from '@trinity-rft/core/engine';

import { checkGpu } from './gpu-module.js';
import { checkMaxModelLen } from './model/max-model-len.js';
import { checkMergedWeights } from './lora/load-model.js';
import { readModelFiles } from './storage/model-folder.js';

/**
 * Checks that the embedded engine can run a model folder, without opening it.
 * @throws CheckpointError when the folder's model is not supported, or its weights do not match its
 * config.json; EngineError when the model's context length is too short, or the device lacks
 * operators of the model; ConfigError when a package for the device is missing
 */
export async function checkModel({
  modelPath,
  maxModelLen,
  weights = true,
  device,
}: ModelCheck): Promise<void> {
  const { config } = await readModelFiles(modelPath);
  checkMaxModelLen({ modelPath, maxModelLen }, config);
  if (device === 'webgpu') await checkGpu(config);
  if (weights) await checkMergedWeights(modelPath, config);
}
