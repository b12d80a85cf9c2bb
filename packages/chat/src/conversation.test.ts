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

describe('the weight of a message', () => {
  const [user, two, , four] = messages;
  const weighted = (first?: 0 | 1, last?: 0 | 1) => [
    user,
    { ...two, weight: first },
    messages[2],
    { ...four, weight: last },
  ];

  it('decides before the setting does', () => {
    const trained = (first: 0 | 1 | undefined, last: 0 | 1 | undefined, trainOn?: 'all') =>
      marked(encodeConversation(format, { messages: weighted(first, last), trainOn }));
    expect(trained(1, undefined)).toBe('two<|im_end|>four<|im_end|>');
    expect(trained(1, 0)).toBe('two<|im_end|>');
    expect(trained(0, undefined, 'all')).toBe('four<|im_end|>');
    expect(trained(undefined, 0, 'all')).toBe('two<|im_end|>');
    expect(() => trained(undefined, 0)).toThrow('weight 0');
  });

  it('leaves the prompt of a pair alone', () => {
    const pair = { messages: weighted(1, 1), trainOn: { from: 3 } };
    expect(marked(encodeConversation(format, pair))).toBe('four<|im_end|>');
  });

  it('is one for two messages of the assistant that are one answer', () => {
    const split = (weight?: 0 | 1) => [user, { ...two, weight }, { ...four, weight: 1 as const }];
    expect(marked(encodeConversation(format, { messages: split(1) }))).toContain('four<|im_end|>');
    expect(() => encodeConversation(format, { messages: split() })).toThrow(
      'Messages 2 and 3 are one answer of the assistant, with the weights none and 1',
    );
  });
});

it('marks a whole answer that begins before the index', () => {
  const [user, two, , four] = messages;
  const input = { messages: [user, two, four], trainOn: { from: 2 } };
  expect(marked(encodeConversation(format, input))).toMatch(/^two\s*four<\|im_end\|>$/);
  expect(() => encodeConversation(format, { ...input, trainOn: { from: 3 } })).toThrow(
    'no assistant message from message 4 on, so there is nothing to learn from. Add the answer.',
  );
  const ignored = { messages: [user, { ...two, weight: 0 as const }], trainOn: { from: 1 } };
  expect(() => encodeConversation(format, ignored)).toThrow(
    'Every answer of the conversation from message 2 on has weight 0, so there is nothing to learn from. Give one weight 1.',
  );
});

it('finds the answer of a pair after a prompt in which two messages are one', () => {
  const prompt = [messages[0], messages[1], messages[1], messages[2]];
  const input = { messages: [...prompt, messages[3]], trainOn: { from: prompt.length } };
  expect(marked(encodeConversation(format, input))).toBe('four<|im_end|>');
});
