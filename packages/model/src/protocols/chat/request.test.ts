import { createChatFormat, createTokenizer } from '@trinity-rft/chat';
import { recordingLogger, testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { decode, format, promptOf, scripted, tools } from '../../../test/helpers.js';

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
  ['tools', []],
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

it.each([[{ chat_template_kwargs: { enable_thinking: false } }], [{ reasoning_effort: 'none' }]])(
  '%j reaches the chat template',
  async (wish) => {
    const { model, sampler } = scripted(['a<|im_end|>']);
    await model.handler(post({ ...base, ...wish }));
    expect(decode(sampler.calls[0]!.prompt)).toBe(`${promptOf('hi')}<think>\n\n</think>\n\n`);
  },
);

it('refuses variables that only the endpoint sets', async () => {
  const { model } = scripted([]);
  const answer = await model.handler(post({ ...base, chat_template_kwargs: { messages: [] } }));
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.stringContaining('chat_template_kwargs.messages is set'),
  ]);
});

const responses = (body: object): Request =>
  new Request('http://host/v1/responses', { method: 'POST', body: JSON.stringify(body) });

it.each([
  ['presence_penalty', 0.5, 0],
  ['frequency_penalty', 1, 0],
  ['repetition_penalty', 1.1, 1],
  ['min_p', 0.1, 0],
  ['logit_bias', { 5: 1 }, {}],
  ['something_new', true, null],
])('a strict endpoint follows or rejects, never ignores: %s', async (field, value, neutral) => {
  const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>'], { strictFields: true });
  for (const request of [
    post({ ...base, [field]: value }),
    responses({ input: 'hi', [field]: value }),
  ]) {
    const answer = await model.handler(request);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: field } }]);
  }
  expect(sampler.calls).toEqual([]);
  expect((await model.handler(post({ ...base, [field]: neutral, user: 'me' }))).status).toBe(200);
  expect((await model.handler(responses({ input: 'hi', [field]: neutral }))).status).toBe(200);
});

it.each([
  [
    'chat/completions',
    '"messages": [{"role": "user", "content": "hi"}]',
    '"function": {"name": "f", "strict": true, "parameters": SCHEMA}',
  ],
  ['responses', '"input": "hi"', '"name": "f", "parameters": SCHEMA'],
])('the numbers of tool schemas stay as they were written, in %s', async (path, rest, tool) => {
  const schema =
    '{"type": "object", "minimum": 0.0, "7": 1e5, "b": {"multipleOf": 0.1, "maximum": 12345678901234567890}}';
  const { model, sampler } = scripted(['a<|im_end|>']);
  const body = `{"model": "m", ${rest}, "tools": [{"type": "function", ${tool.replace('SCHEMA', schema)}}]}`;
  const request = new Request(`http://host/v1/${path}`, { method: 'POST', body });
  expect((await model.handler(request)).status).toBe(200);
  expect(decode(sampler.calls[0]!.prompt)).toContain(
    `"parameters": ${schema.replace('1e5', '100000.0')}`,
  );
});

it('gives tool calls ids that the template of the syntax accepts, and knows them again', async () => {
  const files = format.tokenizer.files;
  const mistral = createChatFormat({
    tokenizer: createTokenizer(files),
    toolCallParser: 'mistral',
  });
  const { model, sampler } = scripted(
    ['[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}]<|im_end|>', 'b<|im_end|>'],
    { format: mistral },
  );
  const first = await model.handler(post({ ...base, tools }));
  const { choices } = (await first.json()) as {
    choices: { message: { tool_calls: { id: string }[] } }[];
  };
  const message = choices[0]!.message;
  const { id } = message.tool_calls[0]!;
  expect(id).toMatch(/^[\da-z]{9}$/);
  const result = { role: 'tool', tool_call_id: id, content: '1' };
  await model.handler(post({ ...base, tools, messages: [...messages, message, result] }));
  const [before, after] = sampler.calls;
  expect(decode(after!.prompt).startsWith(decode(before!.prompt))).toBe(true);
  expect(model.metrics()).toMatchObject({ 'model/spliced': 1 });
});

const function_ = (name: string) => ({ type: 'function', name });
const two = [function_('add'), function_('remove')];
const allow = (mode: string, names: readonly string[]) => ({
  tools: two,
  tool_choice: { type: 'allowed_tools', mode, tools: names.map(function_) },
});

it.each([
  ['top_logprobs', post({ ...base, top_logprobs: 5 })],
  ['top_logprobs', responses({ input: 'hi', top_logprobs: 5 })],
  ['top_logprobs', responses({ input: 'hi', top_logprobs: 500 })],
  ['include[1]', responses({ input: 'hi', include: ['file_search_call.results', 'nonsense'] })],
  ['tool_choice.tools', responses({ input: 'hi', ...allow('auto', ['add']) })],
  ['tool_choice.tools', responses({ input: 'hi', ...allow('required', []) })],
  ['tool_choice.tools[0]', responses({ input: 'hi', ...allow('auto', ['sub']) })],
])('with strict fields, refuses %s that would be ignored', async (param, request) => {
  const { model, sampler } = scripted([], { strictFields: true });
  const answer = await model.handler(request);
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
  expect(sampler.calls).toEqual([]);
});

it('says once that a choice of allowed tools is ignored, and names them where it is refused', async () => {
  const logger = recordingLogger();
  const { model } = scripted(['a<|im_end|>'], { runtime: { ...testRuntime(), logger } });
  await model.handler(responses({ input: 'hi', ...allow('auto', ['add']) }));
  expect(logger.lines).toMatchObject([
    {
      message: expect.stringContaining('allows only some of its tools in tool_choice') as string,
    },
  ]);
  const strict = scripted([], { strictFields: true }).model;
  for (const [choice, text] of [
    [allow('auto', ['add']), 'tool_choice.tools does not have remove.'],
    [allow('auto', ['sub']), 'one of add, remove'],
  ] as const) {
    const answer = await strict.handler(responses({ input: 'hi', ...choice }));
    expect(await answer.text()).toContain(text);
  }
});

it('follows a choice of allowed tools with all of them, or with one to be called', async () => {
  const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>'], { strictFields: true });
  for (const choice of [allow('auto', ['add', 'remove']), allow('required', ['remove'])])
    expect((await model.handler(responses({ input: 'hi', ...choice }))).status).toBe(200);
  const [all, one] = sampler.calls.map(({ prompt }) => decode(prompt));
  expect(all).not.toContain('You must');
  expect(one).toContain('You must call the function remove.');
});

it('answers below the path of a model', async () => {
  const { model } = scripted(['a<|im_end|>'], { modelPath: 'ours/agent' });
  const mount = 'http://host/v1/models/ours/agent/v1';
  const chat = post(base);
  expect((await model.handler(new Request(`${mount}/chat/completions`, chat))).status).toBe(200);
  const named = await model.handler(new Request(`${mount}/models/ours/agent`));
  expect(await named.json()).toMatchObject({ id: 'ours/agent' });
  const all = await model.handler(new Request(`${mount}/models`));
  expect(await all.json()).toMatchObject({ data: [{ id: 'ours/agent' }] });
});

it.each(['/v1/models/ours/agent', '/r/7/v1/models/ours%2Fagent/'])(
  'finds a model whose name has a slash at %s',
  async (path) => {
    const { model } = scripted([], { modelPath: 'ours/agent' });
    const answer = await model.handler(new Request(`http://host${path}`));
    expect(await answer.json()).toMatchObject({ id: 'ours/agent' });
    const other = await model.handler(new Request(`http://host${path}x/y`));
    expect([other.status, await other.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found' } },
    ]);
  },
);

it.each([
  [[{ role: 'user', content: [{ type: 'image_url' }] }], 'messages[0].content[0].type'],
  [[...messages, { role: 'bogus', content: 'x' }], 'messages[1].role'],
  [[], 'messages'],
])(
  'names the place of a fault as the client sent it, whatever the endpoint adds',
  async (sent, param) => {
    const { model } = scripted([]);
    for (const more of [
      {},
      { response_format: { type: 'json_object' } },
      { tools, tool_choice: 'required' },
    ]) {
      const answer = await model.handler(post({ messages: sent, ...more }));
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
    }
  },
);

it.each([
  [{ name: 'x', parameters: [1] }, 'tools[0].parameters'],
  [{ name: 'x', description: 4 }, 'tools[0].description'],
  [{ name: '' }, 'tools[0].name'],
])('names the field of a tool of the Responses API: %j', async (tool, param) => {
  const { model } = scripted([]);
  const answer = await model.handler(
    responses({ input: 'hi', tools: [{ type: 'function', ...tool }] }),
  );
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
});
