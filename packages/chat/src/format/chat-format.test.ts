import { describe, expect, it } from 'vitest';
import { charOptions, testFormat } from '../../test/helpers.js';
import { createChatFormat } from './chat-format.js';
import { chatTemplates } from '../template/chat-templates.js';
import { buildCharTokenizer } from '../tokenizer/char-tokenizer.js';
import { createTokenizer } from '../tokenizer/tokenizer.js';

describe('a chat format', () => {
  const format = testFormat();
  const encode = (text: string): Int32Array => format.tokenizer.encode(text);

  it('remembers prompts', () => {
    const render = (): string => format.render({ messages: [{ role: 'user', content: 'hi' }] });
    expect(format.encode(render())).toBe(format.encode(render()));
  });

  it('continues an assistant message at the end, white space included', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'The answer is ' },
    ] as const;
    expect(format.render({ messages })).toBe(
      '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nThe answer is ',
    );
  });

  it('takes a turn apart', () => {
    const tokens = encode(
      '<think>\nhm\n</think>\n\nok\n<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call><|im_end|>',
    );
    expect(format.readTurn(tokens, { tools: true })).toEqual({
      text: 'ok',
      reasoning: 'hm',
      toolCalls: [{ name: 'f', arguments: '{"a": 1}' }],
      malformedToolCalls: 0,
    });
    expect(format.readTurn(tokens, { tools: false })).toMatchObject({
      text: 'ok\n<tool_call>{"name":"f","arguments":{"a": 1}}</tool_call>',
      toolCalls: [],
    });
  });

  it('ends the text before the stop string, though the tokens keep it', () => {
    expect(
      format.readTurn(encode('one STOP two STOP!'), { tools: false, stopString: 'STOP' }).text,
    ).toBe('one STOP two ');
  });

  it('shows markers to the parsers even where the vocabulary hides them', () => {
    const files = buildCharTokenizer({
      ...charOptions,
      specialTokens: [...charOptions.specialTokens!, ...charOptions.markers!],
      markers: [],
    });
    const hiding = createChatFormat({
      tokenizer: createTokenizer(files),
      toolCallParser: 'hermes',
    });
    expect(
      hiding.readTurn(hiding.encode('<think><tool_call>{"name":"f"}</tool_call>'), { tools: true }),
    ).toMatchObject({
      text: '',
      toolCalls: [{ name: 'f' }],
    });
  });

  it("stops at the tokenizer's end token and at the one that closes a turn", () => {
    const id = (token: string): number | undefined => format.tokenizer.tokenToId(token);
    expect(format.stopTokenIds).toEqual([id('<|im_end|>')]);
    const files = buildCharTokenizer({
      ...charOptions,
      eosToken: '<|endoftext|>',
      specialTokens: ['<|im_start|>', '<|im_end|>'],
    });
    const tokenizer = createTokenizer(files);
    expect(createChatFormat({ tokenizer }).stopTokenIds).toEqual(
      ['<|endoftext|>', '<|im_end|>'].map((token) => tokenizer.tokenToId(token)),
    );
  });

  it("uses the tokenizer's template for tools where it has one", () => {
    const files = buildCharTokenizer(charOptions);
    const { chatTemplate: _, ...rest } = files;
    const named = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: 'tools' },
    ];
    const tokenizer = createTokenizer({
      ...rest,
      tokenizerConfig: { ...files.tokenizerConfig, chat_template: named },
    });
    const messages = [{ role: 'user', content: '' }] as const;
    const tools = [{ type: 'function', function: { name: 'f' } }] as const;
    expect([
      createChatFormat({ tokenizer }).render({ messages }),
      createChatFormat({ tokenizer }).render({ messages, tools }),
    ]).toEqual(['plain', 'tools']);
  });

  it('names what is missing or unknown', () => {
    const { chatTemplate: _, ...bare } = buildCharTokenizer(charOptions);
    expect(() => createChatFormat({ tokenizer: createTokenizer(bare) })).toThrow(
      expect.objectContaining({ code: 'CHAT_TEMPLATE_MISSING' }),
    );
    expect(() => testFormat(chatTemplates.chatml, { toolCallParser: 'toString' })).toThrow(
      /"toString", which is unknown. Expected one of: hermes/,
    );
    expect(() => testFormat(chatTemplates.chatml, { reasoningParser: 'gpt' })).toThrow(
      /deepseek_r1, qwen3/,
    );
  });
});
