/** The model folder that a stage begins with: a local one. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError } from '@trinity-rft/core';

/** @throws ConfigError naming the folder and what it lacks */
export async function resolveModelFolder({ model }: StageConfig): Promise<string> {
  const { modelPath, isLocal } = model;
  const folder = await stat(modelPath).catch(() => undefined);
  if (!isLocal || !folder?.isDirectory()) {
    throw new ConfigError(`model.model_path: there is no folder ${modelPath}. Give the path of a Hugging Face model folder (config.json, *.safetensors, tokenizer.json).`, {
      code: 'MODEL_MISSING',
    });
  }
  for (const name of ['config.json', 'tokenizer.json']) {
    const file = await stat(path.join(modelPath, name)).catch(() => undefined);
    if (!file) throw new ConfigError(`model.model_path: ${modelPath} has no ${name}. Give a complete Hugging Face model folder.`, { code: 'MODEL_INCOMPLETE' });
  }
  return modelPath;
}
