/** Tokenizer, chat template and parsers of a model. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import type { RolloutModelConfig } from '@trinity-rft/config';
import { listCheckpoints } from '@trinity-rft/trainer';
import type { StageContext } from '../../context/stage-context.js';
import { explainFolderErrors, modelOfStage } from './model-folder.js';

/**
 * Tokenizer and template of the newest checkpoint: those with which its weights were trained, whatever
 * the model folder holds by now. Before there is one, those of the model.
 * @throws ConfigError when the model's tokenizer or template cannot be used
 */
export async function openChatFormat(context: StageContext): Promise<ChatFormat> {
  const { stage, startModel } = context;
  const { rolloutModel } = stage.explorer;
  const newest = (await listCheckpoints(stage.jobDirectory)).at(-1)?.directory;
  // Some engines leave these files out.
  if (newest !== undefined && existsSync(path.join(newest, 'tokenizer.json')))
    return readChatFormat(newest, rolloutModel);
  return explainFolderErrors(modelOfStage(context), () => readChatFormat(startModel, rolloutModel));
}

/**
 * The chat format of one model folder.
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
