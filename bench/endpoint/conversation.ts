/**
 * Conversations of the measured agents: four turns with a tool call each, about a thousand tokens at
 * the end.
 */
import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
  type ChatFormat,
} from '../../packages/chat/src/index.ts';

export const turnsPerConversation = 4;

export type Message = Readonly<Record<string, unknown>>;

const toolNames = ['search', 'read_file', 'calculator'];

export const tools = toolNames.map((name) => ({
  type: 'function',
  function: {
    name,
    description: `Runs ${name} and returns what it finds.`,
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
    },
  },
}));

export const opening: readonly Message[] = [
  {
    role: 'system',
    content:
      'You help people of a small shop with their orders. Look things up before you answer, and say what you found. '.repeat(
        3,
      ),
  },
  {
    role: 'user',
    content:
      'Where is the order that I placed on Monday, and can I still change the address it is sent to?',
  },
];

/** Output of the scripted model in every turn. */
export const answer =
  'I look that up first.\n<tool_call>\n{"name": "search", "arguments": {"query": "orders placed on Monday", "limit": 5}}\n</tool_call><|im_end|>';

export const toolResult =
  '{"orders": [{"id": 4711, "placed": "Monday", "state": "packed", "city": "Lyon", "items": 3, "total": 59.5}]}';

/** Chat format with one token per character: token counts are high and encoding is cheap. */
export function benchFormat(): ChatFormat {
  const characters = `${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}\n`;
  return createChatFormat({
    tokenizer: createTokenizer(
      buildCharTokenizer({
        characters,
        words: ['system', 'user', 'assistant'],
        specialTokens: ['<|im_start|>'],
        markers: ['<tool_call>', '</tool_call>'],
        eosToken: '<|im_end|>',
        chatTemplate: chatTemplates.chatml,
      }),
    ),
    toolCallParser: 'hermes',
  });
}
