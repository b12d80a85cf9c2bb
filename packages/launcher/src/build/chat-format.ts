/** Tokenizer, chat template and parsers of a stage. */
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import type { StageContext } from '../context.js';

export async function openChatFormat({ stage, startModel }: StageContext): Promise<ChatFormat> {
  const { chatTemplate, toolCallParser, reasoningParser } = stage.explorer.rolloutModel;
  return createChatFormat({
    tokenizer: await loadTokenizer(startModel),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(toolCallParser !== undefined && { toolCallParser }),
    ...(reasoningParser !== undefined && { reasoningParser }),
  });
}
