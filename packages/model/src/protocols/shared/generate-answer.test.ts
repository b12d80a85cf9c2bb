import { BufferError, type ChatResponse } from '@trinity-rft/core';
import { scriptedSampler, testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { encode, modelOver, scripted } from '../../../test/helpers.js';
import { jsonEncoding, sseEncoding } from './answer/encodings.js';
import { deliver } from './answer/delivery.js';
import { createLiveAnswer } from './answer/live-answer.js';

const messages = [{ role: 'user', content: 'hi' }];
const routes: Readonly<Record<string, object>> = {
  'chat/completions': { messages },
  completions: { prompt: 'hi' },
  messages: { messages, max_tokens: 50 },
  responses: { input: 'hi' },
};
const post = (route: string, body: object, init: RequestInit = {}): Request =>
  new Request(`http://host/v1/${route}`, { method: 'POST', body: JSON.stringify(body), ...init });

it.each(Object.entries(routes))(
  '%s: an answer that its owner rejects is no experience, and its retry is a new sample',
  async (route, body) => {
    let rejects = true;
    const { model, sampler } = scripted(['one<|im_end|>', 'two<|im_end|>'], {
      onAnswer: () => {
        if (rejects) throw new BufferError('The disk is full.');
      },
    });
    expect((await model.handler(post(route, body))).status).toBe(500);
    expect(model.extractExperiencesFromHistory({ clear: false })).toEqual([]);
    expect(model.metrics()).toMatchObject({ 'model/calls': 1, 'model/undelivered': 1 });
    rejects = false;
    const headers = { 'x-stainless-retry-count': '1' };
    expect((await model.handler(post(route, body, { headers }))).status).toBe(200);
    expect(sampler.calls).toHaveLength(2);
    expect(model.extractExperiencesFromHistory()).toMatchObject([{ responseText: 'two' }]);
  },
);

it('an answer whose client leaves while its owner stores it is no experience', async () => {
  const { promise: stored, resolve: store } = Promise.withResolvers<void>();
  const { promise: storing, resolve } = Promise.withResolvers<void>();
  const onAnswer = (): Promise<void> => (resolve(), stored);
  const { model } = scripted(['one<|im_end|>'], { onAnswer });
  const client = new AbortController();
  const { signal } = client;
  const answer = model.handler(post('chat/completions', { messages }, { signal }));
  await storing;
  client.abort();
  store();
  expect((await answer).status).toBe(499);
  expect(model.extractExperiencesFromHistory()).toEqual([]);
});

it.each(['json', 'sse', 'live sse'])(
  'an answer that cannot be written as %s is lost',
  async (kind) => {
    const fail = (): never => {
      throw new RangeError('too deep');
    };
    const encoding =
      kind === 'json'
        ? jsonEncoding<object, object>(fail)
        : sseEncoding<object, object>({
            headOf: () => ({}),
            writer: () => ({ update: () => [{ data: 'a' }], end: fail }),
          });
    const live = createLiveAnswer<object>();
    const { promise: result, resolve } = Promise.withResolvers<object>();
    const outcomes: string[] = [];
    const pending = {
      live,
      result,
      delivered: () => outcomes.push('delivered'),
      lost: () => outcomes.push('lost'),
    };
    if (kind === 'live sse') {
      live.begin({});
      live.update(0, { responseText: 'a', toolCalls: [] });
    } else resolve({});
    const answer = deliver(pending, encoding, { runtime: testRuntime() }).then(
      (response) => {
        resolve({});
        return (response as Response).text();
      },
      (error: unknown) => String(error),
    );
    expect(await answer).toContain('too deep');
    expect(outcomes[0]).toBe('lost');
  },
);

it('arguments that are nested deeper than a client may send back are no call', async () => {
  const deep = `{"a": ${'['.repeat(140)}${']'.repeat(140)}}`;
  const text = `<tool_call>\n{"name": "add", "arguments": ${deep}}\n</tool_call>`;
  const sampler = scriptedSampler({ script: () => encode(`${text}<|im_end|>`) });
  const tools = [{ type: 'function', name: 'add', parameters: { type: 'object' } }];
  const model = modelOver(sampler);
  const response = await model.handler(post('responses', { input: 'hi', tools }));
  const { id, output } = (await response.json()) as { id: string; output: unknown };
  expect(output).toMatchObject([{ type: 'message', content: [{ text }] }]);
  const next = { input: 'on', previous_response_id: id, tools };
  expect((await model.handler(post('responses', next))).status).toBe(200);
  expect(model.extractExperiencesFromHistory()).toHaveLength(2);
});

it.each(['', '{"a": 1', '[1]', 'null'])(
  'the arguments %j of an external model are an object for clients of the Messages API',
  async (args) => {
    const toolCall = { id: 'c', type: 'function', function: { name: 'add', arguments: args } };
    const response: Partial<ChatResponse> = {
      responseText: '',
      toolCalls: [toolCall as ChatResponse['toolCalls'][number]],
      finishReason: 'tool_calls',
    };
    const external = { chat: async () => [response as ChatResponse] };
    const { model } = scripted([], { external });
    const tools = [{ name: 'add', input_schema: { type: 'object' } }];
    const answer = await model.handler(post('messages', { messages, max_tokens: 50, tools }));
    const { content } = (await answer.json()) as { content: readonly { input: object }[] };
    expect(content.map(({ input }) => input)).toEqual([{}]);
  },
);
