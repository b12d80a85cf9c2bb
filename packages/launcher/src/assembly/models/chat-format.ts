/** Tokenizer, chat template and parsers of a model. */
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import type { RolloutModelConfig } from '@trinity-rft/config';
import type { StageContext } from '../../context/stage-context.js';
import { explainFolderErrors, modelOfStage } from './model-folder.js';

/** @throws ConfigError when the model's tokenizer or template cannot be used */
export function openChatFormat(context: StageContext): Promise<ChatFormat> {
  const { stage, startModel } = context;
  return explainFolderErrors(modelOfStage(context), () =>
    readChatFormat(startModel, stage.explorer.rolloutModel),
  );
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
    reasoningParser,
  }: Pick<RolloutModelConfig, 'chatTemplate' | 'toolCallParser' | 'reasoningParser'>,
): Promise<ChatFormat> {
  const tokenizer = await loadTokenizer(folder);
  return createChatFormat({ tokenizer, chatTemplate, toolCallParser, reasoningParser });
}
