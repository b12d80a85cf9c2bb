/** Checks the treatment of every field of the clients' request types. */
import Anthropic from '@anthropic-ai/sdk';
import type { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { scripted } from '../../test/helpers.js';

/** `used`: followed or checked. `ignored`: no answer depends on it. `refused`: rejected by name. */
type Effect = 'used' | 'ignored' | 'refused';
type Table<T> = Readonly<Record<keyof T, Effect>>;
type All<T> = T extends unknown ? keyof T : never;
type Fields<T> = { [K in All<T>]: true };

const chat: Table<Fields<OpenAI.ChatCompletionCreateParams>> = {
  messages: 'used',
  model: 'ignored',
  audio: 'refused',
  frequency_penalty: 'refused',
  function_call: 'refused',
  functions: 'refused',
  logit_bias: 'refused',
  logprobs: 'used',
  max_completion_tokens: 'used',
  max_tokens: 'used',
  metadata: 'ignored',
  modalities: 'refused',
  moderation: 'refused',
  n: 'used',
  parallel_tool_calls: 'used',
  prediction: 'ignored',
  presence_penalty: 'refused',
  prompt_cache_key: 'ignored',
  prompt_cache_options: 'ignored',
  prompt_cache_retention: 'ignored',
  reasoning_effort: 'used',
  response_format: 'used',
  safety_identifier: 'ignored',
  seed: 'used',
  service_tier: 'ignored',
  stop: 'used',
  store: 'ignored',
  stream: 'used',
  stream_options: 'used',
  temperature: 'used',
  tool_choice: 'used',
  tools: 'used',
  top_logprobs: 'used',
  top_p: 'used',
  user: 'ignored',
  verbosity: 'ignored',
  web_search_options: 'refused',
};

const completions: Table<Fields<OpenAI.CompletionCreateParams>> = {
  model: 'ignored',
  prompt: 'used',
  best_of: 'refused',
  echo: 'refused',
  frequency_penalty: 'refused',
  logit_bias: 'refused',
  logprobs: 'used',
  max_tokens: 'used',
  n: 'used',
  presence_penalty: 'refused',
  seed: 'used',
  stop: 'used',
  stream: 'used',
  stream_options: 'used',
  suffix: 'refused',
  temperature: 'used',
  top_p: 'used',
  user: 'ignored',
};

const responses: Table<Fields<OpenAI.Responses.ResponseCreateParams>> = {
  access_programs: 'refused',
  background: 'refused',
  context_management: 'refused',
  conversation: 'refused',
  image: 'refused',
  include: 'used',
  input: 'used',
  instructions: 'used',
  max_output_tokens: 'used',
  max_tool_calls: 'used',
  metadata: 'ignored',
  model: 'ignored',
  moderation: 'refused',
  parallel_tool_calls: 'used',
  previous_response_id: 'used',
  prompt: 'refused',
  prompt_cache_key: 'ignored',
  prompt_cache_options: 'ignored',
  prompt_cache_retention: 'ignored',
  reasoning: 'used',
  safety_identifier: 'ignored',
  service_tier: 'ignored',
  store: 'used',
  stream: 'used',
  stream_options: 'used',
  temperature: 'used',
  text: 'used',
  tool_choice: 'used',
  tools: 'used',
  top_logprobs: 'used',
  top_p: 'used',
  truncation: 'refused',
  user: 'ignored',
};

const messages: Table<Fields<Anthropic.MessageCreateParams>> = {
  max_tokens: 'used',
  messages: 'used',
  model: 'ignored',
  cache_control: 'ignored',
  container: 'refused',
  diagnostics: 'refused',
  inference_geo: 'refused',
  metadata: 'ignored',
  output_config: 'used',
  service_tier: 'ignored',
  speed: 'refused',
  stop_sequences: 'used',
  stream: 'used',
  system: 'used',
  thinking: 'used',
  tool_choice: 'used',
  tools: 'used',
  user_profile_id: 'refused',
  workspace_id: 'refused',
};

/**
 * Values with which a field would change an answer, for fields that the test's default value does
 * not fit.
 */
const values: Readonly<Record<string, unknown>> = {
  functions: [{ name: 'f' }],
  modalities: ['audio'],
  logit_bias: { 5: 1 },
  truncation: 'auto',
  background: true,
  best_of: 2,
  echo: true,
  suffix: 'x',
  context_management: [{ type: 'compaction' }],
};

const hello = [{ role: 'user', content: 'hi' }];
const routes: readonly [string, object, Readonly<Record<string, Effect>>][] = [
  ['chat/completions', { messages: hello }, chat],
  ['completions', { prompt: 'hi' }, completions],
  ['responses', { input: 'hi' }, responses],
  ['messages', { messages: hello, max_tokens: 5 }, messages],
];

async function answerTo(path: string, body: object) {
  const { model } = scripted(['a<|im_end|>'], { strictFields: true });
  const url = `http://host/v1/${path}`;
  const response = await model.handler(
    new Request(url, { method: 'POST', body: JSON.stringify(body) }),
  );
  return { status: response.status, text: await response.text() };
}

describe.each(routes)('a request to %s', (path, body, table) => {
  const of = (effect: Effect) => Object.keys(table).filter((field) => table[field] === effect);

  it.each(of('refused'))('is refused for %s, by name', async (field) => {
    const { status, text } = await answerTo(path, { ...body, [field]: values[field] ?? 'x' });
    expect([status, text]).toEqual([400, expect.stringContaining(field)]);
  });

  it.each(of('ignored'))('is answered with %s', async (field) => {
    const value = /metadata|options|control/.test(field) ? { a: 'b' } : 'x';
    expect(
      await answerTo(path, { ...body, [field]: field === 'store' ? true : value }),
    ).toMatchObject({ status: 200 });
  });

  it.each(of('used'))('is checked for the type of %s', async (field) => {
    const { status, text } = await answerTo(path, { ...body, [field]: { wrong: { type: 1 } } });
    // Some fields accept any value.
    expect(status === 200 || (status === 400 && text.includes(field)) || [status, text]).toBe(true);
  });

  it('names the field of the wire in every error', async () => {
    for (const [field, value] of [
      ['top_p', 2],
      ['top_p', -1],
      ['top_k', -2],
      ['temperature', -1],
    ])
      expect(await answerTo(path, { ...body, [String(field)]: value })).toMatchObject({
        status: 400,
        text: expect.stringContaining(`${field} is ${value}`),
      });
    for (const value of [0, 1, 0.5])
      expect(await answerTo(path, { ...body, top_p: value })).toMatchObject({ status: 200 });
    expect(await answerTo(path, { ...body, logit_bias: { 5: 0 } })).toMatchObject({ status: 200 });
  });
});

it('refuses what cannot be: a forced call without tools, too many stops, an ending that is none', async () => {
  const ask = (more: object) => answerTo('chat/completions', { messages: hello, ...more });
  const refused: readonly [object, string][] = [
    [{ tool_choice: 'required' }, 'tool_choice is \\"required\\" without tools'],
    [{ stop: Array.from({ length: 129 }, () => 'x') }, 'stop has 129 strings'],
    [{ stop: ['x'.repeat(1001)] }, 'stop[0] is'],
    [{ continue_final_message: true }, 'continue_final_message is true'],
    [{ add_generation_prompt: false }, 'add_generation_prompt is false'],
  ];
  for (const [more, text] of refused)
    expect(await ask(more)).toMatchObject({ status: 400, text: expect.stringContaining(text) });
  const begun = [...hello, { role: 'assistant', content: 'I ' }];
  const given = { messages: begun, continue_final_message: true, add_generation_prompt: false };
  expect(await ask(given)).toMatchObject({ status: 200 });
  expect(await ask({ messages: begun, add_generation_prompt: true })).toMatchObject({
    status: 400,
  });
  const withCalls = (tool_calls: readonly object[]): object => ({
    messages: [...begun, { role: 'assistant', content: 'am', tool_calls }],
    continue_final_message: true,
  });
  expect(await ask(withCalls([]))).toMatchObject({ status: 200 });
  const called = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
  expect(await ask(withCalls([called]))).toMatchObject({ status: 400 });
  const forced = { messages: hello, max_tokens: 5, tool_choice: { type: 'any' } };
  expect(await answerTo('messages', forced)).toMatchObject({
    status: 400,
    text: expect.stringContaining('\\"any\\" without tools'),
  });
});

it('retrieves the model that it lists', async () => {
  const { model } = scripted([], { modelPath: 'org/tiny model' });
  const get = async (path: string) => model.handler(new Request(`http://host/v1/models${path}`));
  const list = (await (await get('')).json()) as OpenAI.ModelsPage;
  expect(list.data).toEqual([await (await get(`/${encodeURIComponent('org/tiny model')}`)).json()]);
  expect((await get('/other')).status).toBe(404);
  const fetch: typeof globalThis.fetch = (input, init) => model.handler(new Request(input, init));
  const client = new Anthropic({ baseURL: 'http://host', apiKey: 'k', fetch });
  const page = await client.models.list();
  const [{ type, display_name, created_at }] = page.data as [Anthropic.ModelInfo];
  expect([type, display_name, new Date(created_at).toISOString(), page.last_id]).toEqual([
    ...['model', 'org/tiny model', created_at, 'org/tiny model'],
  ]);
});

it('puts the sampled token among its alternatives', async () => {
  const { text } = await answerTo('completions', { prompt: 'hi', logprobs: 1 });
  const { choices } = JSON.parse(text) as OpenAI.Completion;
  const {
    tokens = [],
    token_logprobs: own = [],
    top_logprobs: top = [],
  } = choices[0]?.logprobs ?? {};
  expect(tokens.length).toBeGreaterThan(0);
  for (const [i, token] of tokens.entries()) expect(top[i]).toHaveProperty([token], own[i]);
});
