/** Small chat formats for tests. */
import {
  createChatFormat,
  type ChatFormat,
  type ChatFormatOptions,
} from '../src/format/chat-format.js';
import { chatTemplates } from '../src/template/chat-templates.js';
import { buildCharTokenizer, type CharTokenizerOptions } from '../src/tokenizer/char-tokenizer.js';
import { createTokenizer } from '../src/tokenizer/tokenizer.js';

export const ascii = `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`;

export const charOptions: CharTokenizerOptions = {
  characters: ascii,
  words: ['system', 'user', 'assistant', '", "arguments": ', 'and', 'an'],
  specialTokens: ['<|im_start|>', '<|endoftext|>'],
  markers: ['<tool_call>', '</tool_call>', '<think>', '</think>'],
  eosToken: '<|im_end|>',
  padToken: '<|endoftext|>',
  chatTemplate: chatTemplates.chatml,
};

export function testFormat(
  chatTemplate: string = chatTemplates.chatml,
  options: Partial<ChatFormatOptions> = {},
): ChatFormat {
  const tokenizer = createTokenizer(buildCharTokenizer({ ...charOptions, chatTemplate }));
  return createChatFormat({
    tokenizer,
    toolCallParser: 'hermes',
    reasoningParser: 'qwen3',
    ...options,
  });
}
