/** Tokenizer, chat template and parsers of a stage. */
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import type { StageContext } from '../../context/stage-context.js';
import { aboutModel } from './model-folder.js';

/** @throws ConfigError when the model's tokenizer or template cannot be used */
export function openChatFormat(context: StageContext): Promise<ChatFormat> {
  const { stage, startModel } = context;
  const { chatTemplate, toolCallParser, reasoningParser } = stage.explorer.rolloutModel;
  return aboutModel(context, async () =>
    createChatFormat({
      tokenizer: await loadTokenizer(startModel),
      ...(chatTemplate !== undefined && { chatTemplate }),
      ...(toolCallParser !== undefined && { toolCallParser }),
      ...(reasoningParser !== undefined && { reasoningParser }),
    }),
  );
}
