/** Reads the tokenizer, chat template and parsers of a model. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import type { RolloutModelConfig, StageConfig } from '@trinity-rft/config';
import type { Environment } from '@trinity-rft/buffer/internal';
import type { Runtime } from '@trinity-rft/core';
import { listCheckpoints } from '@trinity-rft/trainer';
import { explainFolderErrors, modelOfStage } from './model-folder.js';

/** Inputs for opening the model of a stage, or for encoding rows for that model. */
export interface StageModel {
  /** Model folder that the stage starts from. */
  readonly startModel: string;
  readonly format: ChatFormat;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  /** Environment variables of the stage. */
  readonly env: Environment;
}

/**
 * Reads the tokenizer and the chat template of a stage's model. Reads both from the stage's newest
 * checkpoint if it has a tokenizer, because the weights were trained with them and the model folder
 * may have changed since. Otherwise reads both from the model folder.
 * @throws ConfigError when tokenizer or template cannot be used
 */
export async function openChatFormat(stage: StageConfig, startModel: string): Promise<ChatFormat> {
  const { rolloutModel } = stage.explorer;
  const newest = (await listCheckpoints(stage.jobDirectory)).at(-1)?.directory;
  // Some engines do not copy the tokenizer files into checkpoints.
  if (newest !== undefined && existsSync(path.join(newest, 'tokenizer.json')))
    return readChatFormat(newest, rolloutModel);
  return explainFolderErrors(modelOfStage(stage), () => readChatFormat(startModel, rolloutModel));
}

/**
 * Reads the chat format of a model folder.
 * @throws ConfigError when its tokenizer or template cannot be used
 */
export async function readChatFormat(
  folder: string,
  {
    chatTemplate,
    toolCallParser,
    toolPrompt,
    reasoningParser,
  }: Pick<RolloutModelConfig, 'chatTemplate' | 'toolCallParser' | 'toolPrompt' | 'reasoningParser'>,
): Promise<ChatFormat> {
  const tokenizer = await loadTokenizer(folder);
  return createChatFormat({ tokenizer, chatTemplate, toolCallParser, toolPrompt, reasoningParser });
}
