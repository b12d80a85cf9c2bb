import { describe, expect, it } from 'vitest';
import { createLedger } from '../src/index.js';
import { fixture } from './rendering.js';
import { chatml, formatOf, playLoop, tools, type Loop, type Model } from './tool-loop.js';

const parameters = (args: string): string =>
  Object.entries(JSON.parse(args) as object)
    .map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
    .join('');

/**
 * A template like Gemma 4's: results follow a call within the turn, and only a prompt contains the
 * empty channel.
 */
const gemma4 = `{% for m in messages %}
{%- if m.role == 'tool' %}response:{{ messages[loop.index0 - 1].tool_calls[0].function.name }}{value:{{ m.content }}}<tool_response|>
{%- else %}
{%- if m.role != 'assistant' or messages[loop.index0 - 1].role != 'tool' %}<|turn>{{ m.role }}\n{% endif %}
{%- for c in m.tool_calls or [] %}<|tool_call>call:{{ c.function.name }}{
{%- for key, value in c.function.arguments | dictsort %}{{ ',' if not loop.first }}{{ key }}:{{ value }}{% endfor -%}
}<tool_call|><|tool_response>{% endfor %}{{ m.content }}{{ '<turn|>' if not m.tool_calls else '' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}<|turn>assistant\n<|channel>thought\n<channel|>{% endif %}`;

const models: Readonly<Record<string, Model>> = {
  'Qwen 2.5': {
    template: fixture('qwen2.5.jinja'),
    ...chatml,
  },
  'Qwen 3': {
    template: fixture('qwen3.jinja'),
    ...chatml,
    reasoning: 'qwen3',
  },
  'Qwen3-Coder': {
    template: fixture('qwen3-coder.jinja'),
    ...chatml,
    parser: 'qwen3_coder',
    call: (args) => `<tool_call>\n<function=add>\n${parameters(args)}</function>\n</tool_call>`,
  },
  'Qwen 3.5': {
    template: fixture('qwen3.5.jinja'),
    ...chatml,
    parser: 'auto',
    reasoning: 'auto',
    call: (args) => `<tool_call>\n<function=add>\n${parameters(args)}</function>\n</tool_call>`,
  },
  'Gemma 4': {
    template: gemma4,
    parser: 'auto',
    reasoning: 'auto',
    stop: '<|tool_response>',
    special: ['<|turn>', '<turn|>', '<|tool_call>', '<tool_call|>', '<tool_response|>'],
    call: (args) =>
      `<|tool_call>call:add{${Object.entries(JSON.parse(args) as object)
        .map(([key, value]) => `${key}:${value}`)
        .join(',')}}<tool_call|>`,
  },
  'Granite 4': {
    ...chatml,
    template: fixture('granite-4.1.jinja'),
    parser: 'auto',
    stop: '<|end_of_text|>',
    special: ['<|end_of_text|>', '<|start_of_role|>', '<|end_of_role|>'],
  },
  'Ministral 3': {
    template: fixture('ministral-3.jinja'),
    parser: 'auto',
    stop: '</s>',
    special: ['</s>', '<s>', '[INST]', '[/INST]', '[TOOL_CALLS]', '[ARGS]'],
    call: (args) => `[TOOL_CALLS]add[ARGS]${args}`,
  },
  'Mistral Nemo': {
    template: fixture('mistral-nemo.jinja'),
    parser: 'mistral',
    stop: '</s>',
    special: ['</s>', '<s>', '[INST]', '[/INST]', '[TOOL_CALLS]'],
    call: (args) => `[TOOL_CALLS][{"name": "add", "arguments": ${args}}]`,
  },
};

describe.each(Object.entries(models))('the template of %s', (name, model) => {
  it.each<[string, Loop]>([
    ['as it is', { thought: '' }],
    ['without thinking', { thought: '', enableThinking: false }],
    ...(name === 'Qwen 3'
      ? ([['with reasoning', { thought: '<think>\nhm\n</think>\n\n' }]] as [string, Loop][])
      : []),
  ])('continues the recorded ids in every turn of a tool loop, %s', (_, loop) => {
    expect(playLoop(model, loop).outcomes).toEqual(['new', 'spliced', 'spliced']);
  });
});

it('continues after the next question, unless the template drops reasoning', () => {
  const next = (loop: Loop): string => {
    const { ledger, messages } = playLoop(models['Qwen 3']!, loop);
    const { enableThinking } = loop;
    return ledger.prompt({
      messages: [...messages, { role: 'user', content: 'And 4?' }],
      tools,
      enableThinking,
    }).outcome;
  };
  expect(next({ thought: '', enableThinking: false })).toBe('spliced');
  expect(next({ thought: '<think>\nhm\n</think>\n\n' })).toBe('template_changed');
});

it('continues conversations without tools on the template of SmolLM3', () => {
  const model = { ...models['Qwen 3']!, template: fixture('smollm3.jinja') };
  for (const enableThinking of [true, false]) {
    const format = formatOf(model);
    const ledger = createLedger(format);
    const first = ledger.prompt({ messages: [{ role: 'user', content: 'a' }], enableThinking });
    const completion = format.tokenizer.encode('b<|im_end|>');
    const message = { role: 'assistant', content: 'b' } as const;
    ledger.record(first, { message, completion, truncated: false });
    const messages = [
      { role: 'user', content: 'a' },
      message,
      { role: 'user', content: 'c' },
    ] as const;
    expect(ledger.prompt({ messages, enableThinking }).outcome).toBe('spliced');
  }
});

it('gives the name of a call to a template that prints it with the result', () => {
  const model = models['Gemma 4']!;
  const { ledger, messages } = playLoop(model, { thought: '' });
  const { tokenizer } = formatOf(model);
  const text = tokenizer.decode(ledger.prompt({ messages, tools }).ids);
  expect(text).toContain('<|tool_response>response:add{value:3}<tool_response|>');
});
