import { createChatFormat } from '@trinity-rft/chat';
import { describe, expect, it } from 'vitest';
import { decode, format as chatml, scripted, tools } from '../../../../test/helpers.js';
import { formatInstruction, readResponseFormat } from './response-format.js';
import { readToolChoice, toolChoiceInstruction } from './tool-choice.js';

const schema = { type: 'object', properties: { b: { type: 'number' }, a: { type: 'string' } } };
const messages = [{ role: 'user' as const, content: 'hi' }];
const base = { model: 'gpt-5', messages };

describe('readResponseFormat', () => {
  it.each([
    ['nothing', null, undefined],
    ['text', { type: 'text' }, undefined],
    ['any object', { type: 'json_object' }, { type: 'json_object' }],
    [
      'a schema of chat completions',
      { type: 'json_schema', json_schema: { name: 'Answer', schema, strict: true } },
      { type: 'json_schema', name: 'Answer', schema },
    ],
    [
      'a schema of responses',
      { type: 'json_schema', name: 'Answer', description: 'd', schema },
      { type: 'json_schema', name: 'Answer', description: 'd', schema },
    ],
    [
      'a name without a schema',
      { type: 'json_schema', json_schema: { name: 'Answer' } },
      { type: 'json_schema', name: 'Answer' },
    ],
  ])('reads %s', (_, value, expected) => {
    expect(readResponseFormat(value, 'text.format')).toEqual(expected);
  });

  it.each([
    ['text.format', 'json'],
    ['text.format.type', { type: 'grammar' }],
    ['text.format.schema', { type: 'json_schema', schema: 'x' }],
    ['text.format.json_schema', { type: 'json_schema', json_schema: 'x' }],
    ['text.format.json_schema.schema', { type: 'json_schema', json_schema: { schema: [] } }],
  ])('rejects %s', (param, value) => {
    expect(() => readResponseFormat(value, 'text.format')).toThrow(
      expect.objectContaining({ status: 400, details: { param } }),
    );
  });
});

describe('readToolChoice', () => {
  it.each([
    [undefined, 'auto'],
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [{ type: 'function', function: { name: 'add' } }, { name: 'add' }],
    [{ type: 'function', name: 'add' }, { name: 'add' }],
  ])('reads %j', (value, expected) => {
    expect(readToolChoice(value, ['add'], 'tool_choice')).toEqual(expected);
  });

  it('forces no call without tools', () => {
    const named = { type: 'function', function: { name: 'add' } };
    for (const choice of ['required', named])
      expect(() => readToolChoice(choice, [], 'tool_choice')).toThrow('without tools');
    expect(readToolChoice('auto', [], 'tool_choice')).toBe('auto');
  });
});

describe('an agent that asks for a format', () => {
  const format = {
    type: 'json_schema' as const,
    json_schema: { name: 'Answer', schema, strict: true },
  };

  it('has the schema in the prompt, in its own key order, and the answer as the model wrote it', async () => {
    const { model, sampler } = scripted(['{"a": 1}<|im_end|>']);
    const { choices } = await model
      .openaiClient()
      .chat.completions.create({ ...base, response_format: format });
    expect(choices[0]!.message.content).toBe('{"a": 1}');
    const prompt = decode(sampler.calls[0]!.prompt);
    expect(prompt).toContain(
      `<|im_start|>system\nWrite one JSON value that follows the JSON Schema of Answer below and nothing else: no explanation and no code fence.\n${JSON.stringify(schema)}<|im_end|>`,
    );
    expect(sampler.calls[0]!.options).not.toHaveProperty('grammar');
    expect(model.metrics()).toMatchObject({ 'model/unconstrained': 1 });
  });

  it('continues on its recorded tokens, however its messages are written', async () => {
    const turns = [
      '<tool_call>\n{"name": "add", "arguments": {"b": 1}}\n</tool_call><|im_end|>',
      '{"b": 1}<|im_end|>',
    ];
    const { model, sampler } = scripted(turns);
    const client = model.openaiClient();
    const asked = { ...base, tools, tool_choice: 'required' as const, response_format: format };
    const system = { role: 'system' as const, content: 'Add.' };
    const first = await client.chat.completions.create({
      ...asked,
      messages: [system, ...messages],
    });
    const { tool_calls: calls } = first.choices[0]!.message;
    const parts = { role: 'system' as const, content: [{ type: 'text' as const, text: 'Add.' }] };
    await client.chat.completions.create({
      ...asked,
      messages: [
        parts,
        ...messages,
        { role: 'assistant', tool_calls: calls! },
        { role: 'tool', tool_call_id: calls![0]!.id, content: '1' },
      ],
    });
    const prompts = sampler.calls.map(({ prompt }) => decode(prompt));
    expect(prompts[0]).toContain(
      'Add.\n\nWhen you answer without calling a function, write one JSON value',
    );
    expect(prompts[0]).toContain('You must call one of the functions.');
    expect(prompts[1]!.startsWith(prompts[0]! + turns[0]!)).toBe(true);
    expect(model.metrics()).toMatchObject({ 'model/spliced': 1 });
  });

  it('has the schema in the first user message where the template refuses system messages', async () => {
    const template = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}`;
    const chat = createChatFormat({
      tokenizer: chatml.tokenizer,
      chatTemplate: template,
      toolCallParser: undefined,
      reasoningParser: undefined,
    });
    const { model, sampler } = scripted(['{}<|im_end|>'], { format: chat });
    await model.openaiClient().chat.completions.create({ ...base, response_format: format });
    expect(decode(sampler.calls[0]!.prompt)).toMatch(
      /^<\|im_start\|>user\nWrite one JSON value [^]*\n\nhi<\|im_end\|>/,
    );
  });

  it('is logged once per kind of setting, and counted each time', async () => {
    const { model, runtime } = scripted(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>']);
    const client = model.openaiClient();
    for (const _ of [0, 1])
      await client.chat.completions.create({ ...base, response_format: { type: 'json_object' } });
    await client.chat.completions.create({
      ...base,
      tools,
      tool_choice: { type: 'function', function: { name: 'add' } },
    });
    expect(model.metrics()).toMatchObject({ 'model/unconstrained': 3 });
    expect(runtime.logger.messages('info')).toEqual([
      expect.stringContaining('response_format'),
      expect.stringContaining('tool_choice'),
    ]);
  });

  it('gets the same words for the same wish', () => {
    expect(formatInstruction({ type: 'json_object' }, false)).toBe(
      'Write one JSON object and nothing else: no explanation and no code fence.',
    );
    expect(toolChoiceInstruction({ name: 'add' }, false)).toBe('You must call the function add.');
    expect(toolChoiceInstruction('auto', false)).toBeUndefined();
    const described = { type: 'json_schema' as const, description: 'a sum', schema };
    expect(formatInstruction(described, false)).toContain('the JSON Schema (a sum) below');
  });
});
