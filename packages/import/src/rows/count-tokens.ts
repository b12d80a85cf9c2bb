import { createChatFormat, loadTokenizer, normalizeMessages } from '@trinity-rft/chat';
import { describeError, type ChatMessage, type ToolDefinition } from '@trinity-rft/core';
import { fault } from '../record/fault.js';
import type { Json } from '../record/item.js';

/**
 * Returns a function that counts the tokens of a row, rendered with the model's chat template.
 * Counts all messages; for a preference pair, counts the prompt and the longer response.
 * @throws ConfigError if the folder has no tokenizer
 */
export async function tokenCounter(model: string): Promise<(row: Json) => number> {
  const format = createChatFormat({ tokenizer: await loadTokenizer(model) });
  return (row) => {
    const tools = row['tools'] as readonly ToolDefinition[] | undefined;
    try {
      const lengths = conversationsOf(row).map((messages) => {
        const input = { messages: normalizeMessages(messages), tools };
        return format.encode(format.renderWhole(input)).length;
      });
      return Math.max(...lengths);
    } catch (cause) {
      throw fault('the chat template of the model refuses the messages', describeError(cause));
    }
  };
}

function conversationsOf(row: Json): readonly (readonly ChatMessage[])[] {
  const at = (key: string): readonly ChatMessage[] => (row[key] ?? []) as readonly ChatMessage[];
  if (!('chosen' in row)) return [at('messages')];
  return [
    [...at('prompt'), ...at('chosen')],
    [...at('prompt'), ...at('rejected')],
  ];
}
