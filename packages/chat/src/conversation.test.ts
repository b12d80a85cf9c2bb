import { describe, expect, it } from 'vitest';
import { createChatFormat } from './format/chat-format.js';
import { encodeConversation } from './conversation.js';
import { chatTemplates } from './template/chat-templates.js';
import { buildCharTokenizer } from './tokenizer/char-tokenizer.js';
import { createTokenizer } from './tokenizer/tokenizer.js';

const format = createChatFormat({
  tokenizer: createTokenizer(
    buildCharTokenizer({
      characters: 'abcdefghijklmnopqrstuvwxyz0123456789<>_/\n',
      specialTokens: ['<|im_start|>', '<|im_end|>'],
      eosToken: '<|im_end|>',
      chatTemplate: chatTemplates.chatml,
    }),
  ),
});

const marked = ({
  tokens,
  promptLength,
  actionMask,
}: ReturnType<typeof encodeConversation>): string =>
  format.tokenizer.decode(tokens.slice(promptLength).filter((_, i) => actionMask[i] === 1));

const messages = [
  { role: 'user', content: 'one' },
  { role: 'assistant', content: 'two' },
  { role: 'user', content: 'three' },
  { role: 'assistant', content: 'four' },
] as const;

describe('encodeConversation', () => {
  it('marks the last answer with its stop token, and nothing else', () => {
    const encoded = encodeConversation(format, { messages });
    expect(marked(encoded)).toBe('four<|im_end|>');
    expect(format.tokenizer.decode(encoded.tokens.slice(0, encoded.promptLength))).toBe(
      '<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n<|im_start|>user\nthree<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  it('marks every answer on request', () => {
    const encoded = encodeConversation(format, { messages, trainOn: 'all' });
    expect(marked(encoded)).toBe('two<|im_end|>four<|im_end|>');
    expect(encoded.actionMask).toHaveLength(encoded.tokens.length - encoded.promptLength);
  });

  it('gives the ids that sampling would have continued', () => {
    const encoded = encodeConversation(format, { messages: messages.slice(0, 2) });
    const prompt = format.encode(format.render({ messages: [{ role: 'user', content: 'one' }] }));
    expect(encoded.tokens.slice(0, encoded.promptLength)).toEqual([...prompt]);
  });

  it('rejects a conversation without an answer', () => {
    expect(() => encodeConversation(format, { messages: messages.slice(0, 1) })).toThrow(
      'no assistant message',
    );
  });
});

it('marks the answers from a message on, for what continues a given prompt', () => {
  expect(marked(encodeConversation(format, { messages, trainOn: { from: 2 } }))).toBe(
    'four<|im_end|>',
  );
  expect(marked(encodeConversation(format, { messages, trainOn: { from: 1 } }))).toBe(
    'two<|im_end|>four<|im_end|>',
  );
});
