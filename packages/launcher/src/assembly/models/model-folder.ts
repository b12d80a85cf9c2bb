/**
 * Finds the model folder that a stage starts from. Errors about a folder state the configuration
 * key that names the folder.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { ResolvedConfig, StageConfig } from '@trinity-rft/config';
import { diskAt, lastTrained, readModelFolder } from '@trinity-rft/config/internal';
import { ConfigError, CheckpointError, EngineError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';
import { isGguf } from '@trinity-rft/chat/gguf';
import { listCheckpoints, verifyCheckpoint } from '@trinity-rft/trainer';

/**
 * Returns the folder with the weights that the stage starts from (version 0).
 * @throws ConfigError if the configured model is missing or incomplete; CheckpointError if the
 * last stage before that trains has no valid last checkpoint
 */
export async function startModelOf(config: ResolvedConfig, stage: StageConfig): Promise<string> {
  if (!stage.model.fromPreviousStage) return resolveModelFolder(stage);
  const previous = lastTrained(config.stages.slice(0, stage.stageIndex));
  const checkpoint = previous && (await listCheckpoints(previous.jobDirectory)).at(-1);
  if (!checkpoint?.manifest.final)
    throw new CheckpointError(
      `Stage "${stage.stageName}" starts from the last checkpoint of stage "${previous?.stageName}", but ${previous?.jobDirectory} has none. Delete stage_meta.json to continue with the first stage.`,
      { code: 'STAGE_CHECKPOINT_MISSING' },
    );
  await verifyCheckpoint(checkpoint);
  return checkpoint.directory;
}

/**
 * Returns the model folder or GGUF file of the configuration.
 * @throws ConfigError naming the folder and the missing file
 */
export async function resolveModelFolder({ model }: StageConfig): Promise<string> {
  const { modelPath, isLocal } = model;
  if (isLocal && isGguf(modelPath)) return modelPath;
  const folder = await stat(modelPath).catch(() => undefined);
  if (!isLocal || !folder?.isDirectory()) {
    throw new ConfigError(
      `model.model_path: there is no folder ${modelPath}. Give the path of a Hugging Face model folder (config.json, *.safetensors, tokenizer.json), or of a GGUF file.`,
      { code: 'MODEL_MISSING' },
    );
  }
  for (const name of ['config.json', 'tokenizer.json']) {
    const file = await stat(path.join(modelPath, name)).catch(() => undefined);
    if (!file)
      throw new ConfigError(
        `model.model_path: ${modelPath} has no ${name}. Give a complete Hugging Face model folder.`,
        { code: 'MODEL_INCOMPLETE' },
      );
  }
  return modelPath;
}

/**
 * Quantisation of the base weights of the adapter that the stage trains; undefined if the stage
 * trains no adapter or the weights are not quantised. Without an adapter, the engine reads the
 * quantisation from the checkpoint.
 */
export const startQuantization = ({ model }: StageConfig): Quantization | undefined =>
  model.lora && model.base.quantization;

/**
 * Returns the maximum sequence length, `max_position_embeddings` in config.json. Returns Infinity
 * if the value is missing or cannot be read; the engine reports this when it opens the folder.
 */
export function maxPositionsOf(folder: string): number {
  const read = readModelFolder(diskAt(folder), folder);
  return (read.kind === 'shape' ? read.shape.maxPositions : undefined) ?? Infinity;
}

/** A model folder, and the configuration key that names it. */
export interface GivenFolder {
  readonly key: string;
  readonly folder: string;
}

/**
 * Returns the model folder of a stage and its key, or undefined if the stage starts from a
 * checkpoint of an earlier stage.
 */
export const modelOfStage = ({ model }: StageConfig): GivenFolder | undefined =>
  model.fromPreviousStage ? undefined : { key: 'model.model_path', folder: model.modelPath };

/**
 * Calls `work`, which reads a model folder. Converts errors about the folder to a `ConfigError`
 * that states the configuration key.
 * @param given folder that the configuration names; undefined for the training run's own
 * checkpoints, whose errors are not converted
 */
export async function explainFolderErrors<T>(
  given: GivenFolder | undefined,
  work: () => Promise<T>,
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
    // An adapter, or the model that it is based on, may be in another folder, which the error
    // names.
    const isElsewhere =
      cause instanceof CheckpointError &&
      cause.code === 'CHECKPOINT_DAMAGED' &&
      !cause.message.includes(given?.folder ?? '');
    if (!unusable || !given || isElsewhere) throw cause;
    const folder = cause.message.includes(given.folder) ? '' : ` ${given.folder}`;
    throw new ConfigError(`${given.key}${folder}: ${cause.message}`, {
      code: 'MODEL_UNUSABLE',
      cause,
    });
  }
}
