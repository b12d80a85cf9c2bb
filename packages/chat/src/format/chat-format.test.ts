import { describe, expect, it } from 'vitest';
import { ascii, charOptions, testFormat } from '../../test/helpers.js';
import { createChatFormat } from './chat-format.js';
import { reasoningParsers } from '../reasoning-parser/table.js';
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

  it('has a default of enable_thinking, which an input overrides', () => {
    const messages = [{ role: 'user', content: 'hi' }] as const;
    const hasBlock = (text: string): boolean => text.includes('<think>');
    const mute = testFormat(chatTemplates.chatml, { enableThinking: false });
    expect(hasBlock(mute.render({ messages }))).toBe(true);
    expect(hasBlock(mute.render({ messages, enableThinking: undefined }))).toBe(true);
    expect(hasBlock(mute.render({ messages, enableThinking: true }))).toBe(false);
    expect(hasBlock(mute.render({ messages, templateArgs: { enable_thinking: true } }))).toBe(
      false,
    );
    expect(hasBlock(format.render({ messages }))).toBe(false);
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

  it.each([
    ['hermes in the syntax of the template', {}, undefined],
    ['of another parser', { toolCallParser: 'mistral' }, 1],
    ['without a parser', { toolCallParser: undefined }, 1],
    ['of a tool prompt', { toolPrompt: 'generic' }, undefined],
  ])('counts calls that stay text: %s', (_, options, unread) => {
    const own = testFormat(chatTemplates.chatml, options);
    const tools = [{ type: 'function', function: { name: 'f' } }] as const;
    const read = (text: string) => own.readTurn(encode(text), { tools });
    const call = '{"name":"f","arguments":{"a": 1}}';
    expect(read(`<tool_call>${call}</tool_call><|im_end|>`).unreadToolCalls).toBe(unread);
    for (const text of [`\`\`\`json\n${call}\n\`\`\``, '[f(a=1)]', 'f'])
      expect(read(`${text}<|im_end|>`)).toEqual({
        text,
        toolCalls: [],
        malformedToolCalls: 0,
      });
  });

  it.each(Object.entries(reasoningParsers))(
    'sees a %s block at the end of a prompt, even where every character is a token',
    (reasoningParser, { markers: [open, close] }) => {
      const files = buildCharTokenizer({ characters: ascii, eosToken: '<|im_end|>' });
      const spelling = createChatFormat({
        tokenizer: createTokenizer(files),
        chatTemplate: '{{ messages[0].content }}',
        reasoningParser,
      });
      const read = (prompt: string): object => {
        const promptIds = spelling.encode(prompt);
        return spelling.readTurn(spelling.encode(`hm${close}4`), { tools: false, promptIds });
      };
      for (const space of ['', '\n\n', '\n'.repeat(20)]) {
        expect(read(`x${open}${space}`)).toMatchObject({ reasoning: 'hm', text: '4' });
        expect(read(`x${open}${close}${space}`)).toMatchObject({ text: `hm${close}4` });
      }
    },
  );

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

  it("stops at the token that closes a turn, which comes first, and at the tokenizer's end token", () => {
    const id = (token: string): number | undefined => format.tokenizer.tokenToId(token);
    expect(format.stopTokenIds).toEqual([id('<|im_end|>')]);
    const files = buildCharTokenizer({
      ...charOptions,
      eosToken: '<|endoftext|>',
      specialTokens: ['<|im_start|>', '<|im_end|>'],
    });
    const tokenizer = createTokenizer(files);
    expect(createChatFormat({ tokenizer }).stopTokenIds).toEqual(
      ['<|im_end|>', '<|endoftext|>'].map((token) => tokenizer.tokenToId(token)),
    );
  });

  it("uses the tokenizer's template for tools where it has one", () => {
    const files = buildCharTokenizer(charOptions);
    const { chatTemplate: _, ...rest } = files;
    const named = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: '{{ tools[0].function.name }}' },
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
    ]).toEqual(['plain', 'f']);
  });

  it('refuses tools that the template leaves out, unless messages describe them', () => {
    const template =
      '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';
    const tools = [{ type: 'function', function: { name: 'add' } }] as const;
    const messages = [{ role: 'user', content: 'hi' }] as const;
    const without = testFormat(template);
    expect(without.printsTools).toBe(false);
    expect(() => without.render({ messages, tools })).toThrow(
      expect.objectContaining({ status: 400, code: 'chat_template_without_tools' }),
    );
    expect(() => without.renderWhole({ messages, tools })).toThrow(/tool_prompt: generic/);
    const generic = testFormat(template, { toolPrompt: 'generic' });
    const call = {
      id: 'c',
      type: 'function',
      function: { name: 'add', arguments: '{"a":  1}' },
    } as const;
    const prompt = generic.render({
      tools,
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...messages,
        { role: 'assistant', content: '', tool_calls: [call] },
        { role: 'tool', content: '1' },
        { role: 'tool', content: '2' },
      ],
    });
    expect(prompt).toContain('system\nBe brief.\n\n# Tools');
    expect(prompt).toContain('{"type":"function","function":{"name":"add"}}');
    const written = '<tool_call>\n{"name": "add", "arguments": {"a":  1}}\n</tool_call>';
    const results = '<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>';
    expect(prompt).toContain(
      `assistant\n${written}<|im_end|>\n<|im_start|>user\n${results}<|im_end|>\n<|im_start|>assistant\n`,
    );
    expect(generic.readTurn(generic.encode(written), { tools: true }).toolCalls).toHaveLength(1);
  });

  // As in Gemma 2's template, and in templates that print no system message.
  it.each(["{{ raise_exception('System role not supported') }}", ''])(
    'describes tools in the first user message where the template has no system message: %s',
    (system) => {
      const template = `{% for m in messages %}{% if m.role == 'system' %}${system}{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}`;
      const generic = testFormat(template, { toolPrompt: 'generic' });
      const tools = [{ type: 'function', function: { name: 'add' } }] as const;
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yes?' },
        { role: 'user', content: 'on' },
      ] as const;
      const prompt = generic.render({ messages, tools });
      expect(prompt).toMatch(
        /^<\|im_start\|>user\n# Tools\n[^]*"name":"add"[^]*<\/tool_call>\n\nhi<\|im_end\|>/,
      );
      expect(prompt.match(/# Tools/g)).toHaveLength(1);
      expect(generic.render({ messages })).not.toContain('# Tools');
    },
  );

  it('gives the template documents, of the request or else of the format', () => {
    const template = '{{ documents }}';
    const [messages, own, others] = [[], { documents: ['a'] }, { documents: ['b'] }] as const;
    const format = testFormat(template, { templateArgs: own });
    expect(testFormat(template).render({ messages })).toBe('None');
    expect(format.render({ messages })).toBe("['a']");
    expect(format.render({ messages, templateArgs: others })).toBe("['b']");
  });

  it('names what is missing or unknown', () => {
    const { chatTemplate: _, ...bare } = buildCharTokenizer(charOptions);
    expect(() => createChatFormat({ tokenizer: createTokenizer(bare) })).toThrow(
      expect.objectContaining({ code: 'CHAT_TEMPLATE_MISSING' }),
    );
    expect(() => testFormat(chatTemplates.chatml, { toolCallParser: 'toString' })).toThrow(
      /"toString", which is unknown. Expected one of: functiongemma, gemma4, hermes/,
    );
    expect(() => testFormat(chatTemplates.chatml, { reasoningParser: 'gpt' })).toThrow(
      /deepseek_r1, gemma4, mistral, qwen3/,
    );
  });
});
