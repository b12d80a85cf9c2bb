import { expect, it } from 'vitest';
import { decode, promptOf, scripted, tools } from '../../../test/helpers.js';

const messages = [{ role: 'user' as const, content: 'hi' }];
const base = { model: 'gpt-5', messages };

const post = (body: object): Request =>
  new Request('http://host/v1/chat/completions', { method: 'POST', body: JSON.stringify(body) });

it.each([
  ['store', true],
  ['metadata', { a: 'b' }],
  ['user', 'me'],
  ['service_tier', 'flex'],
  ['reasoning_effort', 'high'],
  ['verbosity', 'low'],
  ['prompt_cache_key', 'k'],
  ['safety_identifier', 's'],
  ['prediction', { type: 'content', content: 'x' }],
  ['include', ['reasoning.encrypted_content']],
  ['text', {}],
  ['parallel_tool_calls', false],
  ['chat_template_kwargs', { enable_thinking: false }],
  ['tools', []],
  ['tool_choice', 'required'],
  ['tool_choice', { type: 'function', function: { name: 'add' } }],
  ['response_format', null],
  ['stream_options', null],
  ['functions', null],
  ['something_new', { deep: [1] }],
])('%s changes nothing about a request without tools', async (name, value) => {
  const { model, sampler } = scripted(['a<|im_end|>']);
  expect((await model.handler(post({ ...base, [name]: value }))).status).toBe(200);
  expect(decode(sampler.calls[0]!.prompt)).toBe(promptOf('hi'));
  expect(model.metrics()).not.toHaveProperty('model/unconstrained');
});

it('reads one conversation in many spellings as one prompt', async () => {
  const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } };
  const result = { role: 'tool', tool_call_id: 'c', content: '1' };
  const schema = { ...tools[0]!.function.parameters };
  const spellings = [
    {
      tools,
      messages: [
        { role: 'system', content: 'Add.' },
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        result,
      ],
    },
    {
      tools: [
        { type: 'function', function: { strict: true, ...tools[0]!.function, parameters: schema } },
      ],
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Add.', cache_control: {} }] },
        { role: 'user', name: 'me', content: [{ type: 'input_text', text: 'hi', role: 'junk' }] },
        { role: 'assistant', name: 'model', content: '' },
        { role: 'assistant', tool_calls: [call], refusal: null, annotations: [] },
        { ...result, content: [{ type: 'text', text: '1' }] },
      ],
    },
  ];
  const { model, sampler } = scripted(spellings.map(() => 'a<|im_end|>'));
  for (const body of spellings)
    expect((await model.handler(post({ ...base, ...body }))).status).toBe(200);
  expect(sampler.calls[1]!.prompt).toEqual(sampler.calls[0]!.prompt);
});
