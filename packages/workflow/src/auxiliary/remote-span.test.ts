import { metrics, trace, type Attributes, type Span } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRemoteModel } from './remote-model.js';

let spans: { name: string; attributes: Attributes; failed: boolean }[] = [];
let tokens: (readonly [number, unknown, unknown])[] = [];

beforeEach(() => {
  [spans, tokens] = [[], []];
  const startSpan = (name: string): Span => {
    const seen = { name, attributes: {}, failed: false };
    spans.push(seen);
    return {
      isRecording: () => true,
      setAttributes: (more: Attributes) => void Object.assign(seen.attributes, more),
      setAttribute: (key: string, value: string) =>
        void Object.assign(seen.attributes, { [key]: value }),
      setStatus: () => void (seen.failed = true),
      end: () => undefined,
    } as unknown as Span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as never });
  const createHistogram = (name: string) => ({
    record: (count: number, about: Attributes) =>
      name === 'gen_ai.client.token.usage' &&
      tokens.push([count, about['gen_ai.request.model'], about['gen_ai.token.type']]),
  });
  metrics.setGlobalMeterProvider({ getMeter: () => ({ createHistogram }) as never });
});
afterEach(() => {
  trace.disable();
  metrics.disable();
});

const ask = [{ role: 'user' as const, content: 'hi' }];
const choices = [{ finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }];
const usage = { prompt_tokens: 13, completion_tokens: 240 };

const modelWith = (...responses: readonly Response[]) => {
  const left = [...responses];
  return createRemoteModel({
    ...{ baseURL: 'https://user:pass@judge.test:8443/v1', apiKey: 'key', modelPath: 'judge' },
    ...{ timeoutMs: 60_000, maxRetries: 1 },
    fetch: async () => left.shift()!,
  });
};

it('records each call under the name of the model, with the usage of the service', async () => {
  const refusal = new Response('{}', { status: 429, headers: { 'retry-after-ms': '1' } });
  const model = modelWith(refusal, Response.json({ choices, usage }));
  await model.chat(ask, { temperature: 0.5, maxTokens: 9 });
  const common = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'judge',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 9,
    'server.address': 'judge.test',
    'server.port': 8443,
  };
  expect(spans).toMatchObject([
    { name: 'chat judge', attributes: { ...common, 'error.type': '429' }, failed: true },
    {
      name: 'chat judge',
      attributes: {
        ...common,
        'gen_ai.usage.input_tokens': 13,
        'gen_ai.usage.output_tokens': 240,
        'gen_ai.response.finish_reasons': ['stop'],
      },
      failed: false,
    },
  ]);
  expect(tokens).toEqual([
    [13, 'judge', 'input'],
    [240, 'judge', 'output'],
  ]);
});

it.each([
  ['500', { error: { message: 'gone', code: 500 } }],
  ['_OTHER', { error: 'gone' }],
])('records an answer of status 200 that is an error as a failure: %s', async (type, body) => {
  const model = modelWith(Response.json(body));
  await expect(model.chat(ask)).rejects.toThrow('gone');
  expect(spans).toMatchObject([{ attributes: { 'error.type': type }, failed: true }]);
});

it('records no finish reason where the service says none', async () => {
  const { message } = choices[0]!;
  await modelWith(Response.json({ choices: [{ message }] })).chat(ask);
  expect(spans).toMatchObject([{ attributes: { 'gen_ai.response.finish_reasons': [] } }]);
});

it('reads no body ahead of the client where no SDK runs, nor that of a stream', async () => {
  for (const type of ['application/stream+json', 'application/json']) {
    const endless = new Response(new ReadableStream(), { headers: { 'content-type': type } });
    const { fetch, baseURL } = modelWith(endless).endpoint();
    const body = JSON.stringify({ messages: ask });
    const answered = await fetch(`${baseURL}/chat/completions`, { method: 'POST', body });
    expect(answered.ok).toBe(true);
    trace.disable();
    metrics.disable();
  }
});

it('records the calls of an agent with another client, and no tokens that are not reported', async () => {
  const { fetch, baseURL } = modelWith(Response.json({ data: [] }), Response.json({ choices })).endpoint(); // prettier-ignore
  await fetch(`${baseURL}/models`);
  const body = JSON.stringify({ model: 'judge-2', messages: ask });
  const answered = await fetch(`${baseURL}/chat/completions`, { method: 'POST', body });
  expect(await answered.json()).toEqual({ choices });
  expect(spans.map(({ name }) => name)).toEqual(['chat judge-2']);
  expect(tokens).toEqual([]);
});
