/** The model folder that a stage begins with: a local one. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { CheckpointError, ConfigError, EngineError } from '@trinity-rft/core';
import type { StageContext } from '../../context/stage-context.js';

/** @throws ConfigError naming the folder and what it lacks */
export async function resolveModelFolder({ model }: StageConfig): Promise<string> {
  const { modelPath, isLocal } = model;
  const folder = await stat(modelPath).catch(() => undefined);
  if (!isLocal || !folder?.isDirectory()) {
    throw new ConfigError(
      `model.model_path: there is no folder ${modelPath}. Give the path of a Hugging Face model folder (config.json, *.safetensors, tokenizer.json).`,
      {
        code: 'MODEL_MISSING',
      },
    );
  }
  for (const name of ['config.json', 'tokenizer.json']) {
    const file = await stat(path.join(modelPath, name)).catch(() => undefined);
    if (!file)
      throw new ConfigError(
        `model.model_path: ${modelPath} has no ${name}. Give a complete Hugging Face model folder.`,
        {
          code: 'MODEL_INCOMPLETE',
        },
      );
  }
  return modelPath;
}

/** A folder by the key that names it; undefined where it is a checkpoint of ours. */
type GivenFolder = { readonly key: string; readonly folder: string } | undefined;

const givenModel = ({ stage: { model } }: StageContext): GivenFolder =>
  model.fromPreviousStage ? undefined : { key: 'model.model_path', folder: model.modelPath };

/**
 * Runs what reads a model. A folder that the user gave and that cannot be used is the user's to
 * mend; a checkpoint of ours is not.
 */
export async function aboutModel<T>(
  context: StageContext,
  work: () => Promise<T>,
  given = givenModel(context),
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const unusable =
      cause instanceof CheckpointError ||
      cause instanceof ConfigError ||
      (cause instanceof EngineError && cause.code === 'ENGINE_OPTIONS');
    if (unusable && cause.code.startsWith('ADAPTER_'))
      throw new ConfigError(`model.lora_configs[0].path: ${cause.message}`, {
        code: 'ADAPTER_UNUSABLE',
        cause,
      });
    if (!unusable || !given) throw cause;
    const folder = cause.message.includes(given.folder) ? '' : ` ${given.folder}`;
    throw new ConfigError(`${given.key}${folder}: ${cause.message}`, {
      code: 'MODEL_UNUSABLE',
      cause,
    });
  }
}
