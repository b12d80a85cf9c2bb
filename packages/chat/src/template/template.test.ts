import { describe, expect, it } from 'vitest';
import { chatTemplates } from './chat-templates.js';
import type { NormalMessage } from '../messages/messages.js';
import { createChatTemplate } from './template.js';

const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'f',
      parameters: { type: 'object', properties: { b: { default: 1.5 }, a: {} } },
    },
  },
];
const calling: NormalMessage = {
  role: 'assistant',
  content: 'so',
  reasoning_content: 'hm',
  tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"b":  1.0}' } }],
};
const conversation: readonly NormalMessage[] = [
  { role: 'user', content: 'hi' },
  calling,
  { role: 'tool', content: '2', tool_call_id: '1' },
  { role: 'tool', content: '3' },
];

// Output of transformers' apply_chat_template for the same messages.
const chatmlExpected = `<|im_start|>user
hi<|im_end|>
<|im_start|>assistant
<think>
hm
</think>

so
<tool_call>
{"name": "f", "arguments": {"b": 1.0}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
2
</tool_response>
<tool_response>
3
</tool_response><|im_end|>
<|im_start|>assistant
`;

describe('the chatml template', () => {
  const template = createChatTemplate(chatTemplates.chatml);

  it('prints reasoning, tool calls with the numbers as written, and tool results', () => {
    expect(template.render({ messages: conversation, addGenerationPrompt: true })).toBe(
      chatmlExpected,
    );
  });

  it('describes tools in the order of their keys', () => {
    const text = template.render({
      messages: [{ role: 'system', content: 'be' }, ...conversation],
      tools,
      addGenerationPrompt: true,
    });
    expect(text).toMatch(/^<\|im_start\|>system\nbe\n\n# Tools\n/);
    expect(text).toContain(
      '{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"b": {"default": 1.5}, "a": {}}}}}',
    );
    expect(text.endsWith(chatmlExpected)).toBe(true);
  });

  it('mutes thinking in every turn, so that added messages change nothing before them', () => {
    const messages: readonly NormalMessage[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ];
    const before = template.render({
      messages: messages.slice(0, 1),
      addGenerationPrompt: true,
      enableThinking: false,
    });
    expect(before).toBe(
      '<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n',
    );
    expect(
      template
        .render({ messages, addGenerationPrompt: true, enableThinking: false })
        .startsWith(`${before}b<|im_end|>\n`),
    ).toBe(true);
  });
});

describe('the minimal template', () => {
  it('spends one character on what is read and one token on what is written', () => {
    const template = createChatTemplate(chatTemplates.minimal, { eos_token: '<eos>' });
    expect(template.render({ messages: conversation, addGenerationPrompt: true })).toBe(
      'hi\nso<tool_call>{"name": "f", "arguments": {"b": 1.0}}</tool_call><eos>2\n3\n',
    );
  });
});

describe('createChatTemplate', () => {
  const args = (source: string): string =>
    createChatTemplate(source).render({ messages: [calling], addGenerationPrompt: false });

  const each =
    '{% for m in messages %}{% for c in m.tool_calls or [] %}BODY{% endfor %}{% endfor %}';

  it('parses arguments, except for templates that expect text', () => {
    const body = (text: string): string => args(each.replace('BODY', text));
    expect(body('{{ c.function.arguments | tojson }}')).toBe('{"b": 1.0}');
    expect(body('{% for k, v in c.function.arguments | items %}{{ k }}={{ v }}{% endfor %}')).toBe(
      'b=1.0',
    );
    const either = '{% if A is string %}{{ A }}{% else %}{{ A | tojson }}{% endif %}';
    expect(body(either.replaceAll('A', 'c.function.arguments'))).toBe('{"b": 1.0}');
    expect(body('{{ c.function.arguments }}')).toBe('{"b":  1.0}');
    expect(body("{{ 'json' + c.function.arguments }}")).toBe('json{"b":  1.0}');
  });

  it('reads every line ending as a line feed', () => {
    expect(args('a\r\n{%- if true %}\r\nb\rc{% endif %}')).toBe('ab\nc');
  });

  it.each([
    ['{{ 1 is divisibleby 3 }}', /Expected closing expression token/],
    ['{{ (1,) }}', /Unexpected token: CloseParen/],
    ['{% raw %}{{ x }}{% endraw %}', /Unknown statement type: raw/],
    ['{% with x = 1 %}{{ x }}{% endwith %}', /Unknown statement type: with/],
    ['{{ 1 < 2 < 3 }}', /a chain of comparisons/],
  ])('does not call valid Jinja invalid: %s', (source, cause) => {
    const compile = (): unknown => createChatTemplate(source);
    expect(compile).toThrow(
      /not valid Jinja, or uses a part of Jinja that is not supported here: /,
    );
    expect(compile).toThrow(cause);
  });

  it('names a template that is not Jinja, and one that rejects the messages', () => {
    expect(() => createChatTemplate('{% if %}')).toThrow(
      expect.objectContaining({ code: 'TEMPLATE_INVALID' }),
    );
    const strict = createChatTemplate("{{ raise_exception('roles must alternate') }}");
    expect(() => strict.render({ messages: [], addGenerationPrompt: true })).toThrow(
      /rejects these messages: roles must alternate/,
    );
  });
});
