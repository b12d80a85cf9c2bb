import type { Sampler } from '@trinity-rft/core/engine';
import { scriptedSampler, testRuntime, type TestRuntime } from '@trinity-rft/testing';
import { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { encode, modelOver, scripted } from '../../../../test/helpers.js';
import type { RecordingModel, RolloutModelOptions } from '../../../recording-model.js';

const messages = [{ role: 'user' as const, content: 'hi' }];
const base = { model: 'gpt-5', messages };
const post = (body: object, headers: Record<string, string> = {}, signal?: AbortSignal): Request =>
  new Request('http://host/v1/chat/completions', {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

interface Slow {
  readonly model: RecordingModel;
  readonly runtime: TestRuntime;
  readonly sampler: ReturnType<typeof scriptedSampler>;
}

/** A model whose answers take 40 s; heartbeats begin after 10 s and come every 5 s. */
function slow(
  script: readonly (string | Error)[],
  options: Partial<RolloutModelOptions> = {},
): Slow {
  const runtime = testRuntime();
  const replies = script.map((reply) => (typeof reply === 'string' ? encode(reply) : reply));
  const sampler = scriptedSampler({ script: replies, delayMs: 40_000, clock: runtime.clock });
  return {
    model: modelOver(sampler, {
      runtime,
      heartbeat: { afterMs: 10_000, everyMs: 5000 },
      ...options,
    }),
    runtime,
    sampler,
  };
}

const steps = (model: RecordingModel): readonly (number | undefined)[] =>
  model.extractExperiencesFromHistory({ clear: false }).map(({ eid }) => eid.step);

async function idOf(response: Response): Promise<string> {
  return ((await response.json()) as { id: string }).id;
}

describe('heartbeats', () => {
  it('are comments in a stream that takes long, and the client reads past them', async () => {
    const { model, runtime } = slow(['four<|im_end|>']);
    const pending = model.handler(post({ ...base, stream: true }));
    await runtime.clock.advance(9000);
    await runtime.clock.advance(1000);
    const text = (await pending).text();
    await runtime.clock.advance(30_000);
    const pieces = (await text).split('\n\n');
    expect(pieces.filter((piece) => piece === ': keepalive')).toHaveLength(6);
    expect(pieces.findLastIndex((piece) => piece === ': keepalive')).toBe(5);
    expect(pieces.at(-2)).toBe('data: [DONE]');
    expect(runtime.clock.sleeping).toBe(0);
    expect(steps(model)).toEqual([0]);
  });

  it('are line breaks before a JSON document', async () => {
    const { model, runtime } = slow(['four<|im_end|>']);
    const completion = model.openaiClient().chat.completions.create(base);
    await runtime.clock.advance(40_000);
    expect((await completion).choices[0]!.message.content).toBe('four');
    const raw = model.handler(post(base));
    await runtime.clock.advance(10_000);
    expect((await raw).headers.get('content-length')).toBeNull();
    void (await raw).body?.cancel();
  });

  it('do not begin while the answer is quick', async () => {
    const { model, runtime } = slow(['four<|im_end|>'], { heartbeat: { afterMs: 50_000 } });
    const pending = model.handler(post({ ...base, stream: true }));
    await runtime.clock.advance(40_000);
    expect(await (await pending).text()).not.toContain('keepalive');
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('leave an error as the body of a JSON answer and as an event of a stream', async () => {
    const { model, runtime } = slow([new Error('the worker died'), new Error('the worker died')]);
    const whole = model.handler(post(base));
    await runtime.clock.advance(10_000);
    const body = (await whole).json();
    await runtime.clock.advance(30_000);
    expect(await body).toMatchObject({
      error: { type: 'server_error', message: 'the worker died' },
    });
    const read = (async () => {
      for await (const _ of await model
        .openaiClient()
        .chat.completions.create({ ...base, stream: true }));
    })().catch((error: unknown) => error);
    await runtime.clock.advance(40_000);
    const failure = await read;
    expect(failure).toBeInstanceOf(APIError);
    expect(failure).toMatchObject({
      message: expect.stringContaining('the worker died') as string,
    });
    expect(steps(model)).toEqual([]);
  });

  it('end the generation when the client stops reading', async () => {
    const { model, runtime, sampler } = slow(['four<|im_end|>']);
    const pending = model.handler(post({ ...base, stream: true }));
    await runtime.clock.advance(10_000);
    const reader = (await pending).body!.getReader();
    await reader.read();
    expect(sampler.inFlight).toBe(1);
    await reader.cancel();
    await runtime.clock.advance(0);
    expect(sampler.inFlight).toBe(0);
    expect(steps(model)).toEqual([]);
  });
});

describe('a request that is repeated', () => {
  const retry = { 'x-stainless-retry-count': '1' };

  it('is a new sample after its answer was delivered', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    expect(await idOf(await model.handler(post(base)))).not.toBe(
      await idOf(await model.handler(post(base))),
    );
    expect(steps(model)).toEqual([0, 1]);
  });

  it('gets the recorded answer again when the client says that it repeats', async () => {
    const { model, sampler } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const [first, second] = [
      await model.handler(post(base)),
      await model.handler(post(base, retry)),
    ];
    expect(await second.text()).toBe(await first.text());
    expect(sampler.calls).toHaveLength(1);
    expect(steps(model)).toEqual([0]);
    expect(model.metrics()).toMatchObject({ 'model/replayed': 1, 'model/calls': 1 });
    expect(
      (await (await model.handler(post({ ...base, user: 'me' }, retry))).json()) as object,
    ).toMatchObject({
      choices: [{ message: { content: 'b' } }],
    });
  });

  it('of independent clients gets no answer that another one has or waits for', async () => {
    const { model, runtime } = slow(['a<|im_end|>', 'b<|im_end|>', 'c<|im_end|>'], {
      independentClients: true,
      heartbeat: {},
    });
    const delivered = model.handler(post(base));
    await runtime.clock.advance(40_000);
    const ids = [await idOf(await delivered)];
    const [running, repeated] = [model.handler(post(base)), model.handler(post(base, retry))];
    await runtime.clock.advance(40_000);
    for (const response of [running, repeated]) ids.push(await idOf(await response));
    expect(new Set(ids).size).toBe(3);
  });

  it.each([{}, retry])(
    'of independent clients gets no answer that another one left',
    async (as) => {
      const { model } = scripted(['a<|im_end|>', 'b<|im_end|>'], { independentClients: true });
      const reader = (await model.handler(post({ ...base, stream: true }))).body!.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      const [id = ''] = /chatcmpl_\w+/.exec(new TextDecoder().decode(value)) ?? [];
      const next = await (await model.handler(post({ ...base, stream: true }, as))).text();
      expect(id).toMatch(/^chatcmpl_/);
      expect(next).toContain('"content":"b"');
      expect(next).not.toContain(id);
    },
  );

  it('joins the one under way when the client says that it repeats, and outlives it', async () => {
    const { model, runtime, sampler } = slow(['a<|im_end|>']);
    const client = new AbortController();
    const first = model.handler(post(base, {}, client.signal));
    await runtime.clock.advance(1000);
    const second = model.handler(post(base, retry));
    await runtime.clock.advance(1000);
    client.abort();
    expect((await first).status).toBe(499);
    await runtime.clock.advance(9000);
    const text = (await second).text();
    await runtime.clock.advance(30_000);
    expect(JSON.parse(await text)).toMatchObject({ choices: [{ message: { content: 'a' } }] });
    expect(sampler.calls).toHaveLength(1);
    expect(steps(model)).toEqual([0]);
  });

  it('in parallel is a separate sample, for agents that vote', async () => {
    const voting = slow(['a<|im_end|>', 'b<|im_end|>'], { heartbeat: {} });
    const votes = [0, 1].map(() => voting.model.handler(post(base)));
    await voting.runtime.clock.advance(40_000);
    const [a, b] = await Promise.all(votes.map(async (vote) => idOf(await vote)));
    expect(a).not.toBe(b);
    expect(steps(voting.model)).toEqual([0, 1]);
  });

  it('is generated again after a failure', async () => {
    const model = modelOver(scriptedSampler({ script: [new Error('x'), encode('b<|im_end|>')] }));
    expect((await model.handler(post(base))).status).toBe(500);
    expect((await model.handler(post(base, retry))).status).toBe(200);
    expect(steps(model)).toEqual([0]);
  });
});

describe('an answer that no client received', () => {
  it('is kept out of the experiences', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const response = await model.handler(post({ ...base, stream: true }));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(steps(model)).toEqual([]);
    expect(model.metrics()).toMatchObject({ 'model/undelivered': 1 });
  });

  it('is given to the same request when it comes back, and counts then', async () => {
    const { model, sampler } = scripted(['a<|im_end|>']);
    const client = new AbortController();
    await model.handler(post(base, {}, client.signal));
    client.abort();
    expect(steps(model)).toEqual([]);
    expect(await (await model.handler(post(base))).json()).toMatchObject({
      choices: [{ message: { content: 'a' } }],
    });
    expect(sampler.calls).toHaveLength(1);
    expect(steps(model)).toEqual([0]);
    expect(model.metrics()).toMatchObject({ 'model/replayed': 1, 'model/undelivered': 1 });
  });

  it('counts when a later conversation holds its tool calls', async () => {
    const call = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call><|im_end|>';
    const { model } = scripted([call, 'b<|im_end|>']);
    const tools = [{ type: 'function', function: { name: 'add' } }];
    const reader = (await model.handler(post({ ...base, tools, stream: true }))).body!.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    expect(new TextDecoder().decode(value)).toContain('"role":"assistant"');
    expect(steps(model)).toEqual([]);
    const called = {
      role: 'assistant',
      tool_calls: [
        { id: 'call_0_0_0', type: 'function', function: { name: 'add', arguments: '{}' } },
      ],
    };
    const result = { role: 'tool', tool_call_id: 'call_0_0_0', content: '0' };
    await (
      await model.handler(post({ ...base, tools, messages: [...messages, called, result] }))
    ).text();
    expect(steps(model)).toEqual([0, 1]);
  });

  it('counts as received once its last piece was taken, whatever the client does then', async () => {
    const { model } = scripted(['a<|im_end|>']);
    const client = new AbortController();
    const reader = (
      await model.handler(post({ ...base, stream: true }, {}, client.signal))
    ).body!.getReader();
    for (let text = ''; !text.includes('[DONE]');)
      text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    client.abort();
    expect(steps(model)).toEqual([0]);
  });

  it('counts when its client has continued it before it stopped reading', async () => {
    const { model } = scripted(['one<|im_end|>', 'two<|im_end|>']);
    const reader = (await model.handler(post({ ...base, stream: true }))).body!.getReader();
    await reader.read();
    const continued = [
      ...messages,
      { role: 'assistant', content: 'one' },
      { role: 'user', content: 'more' },
    ];
    await (await model.handler(post({ ...base, messages: continued }))).text();
    await reader.cancel();
    expect(steps(model)).toEqual([0, 1]);
  });

  it('counts when it is delivered after the others were extracted', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const client = new AbortController();
    await model.handler(post(base, {}, client.signal));
    client.abort();
    await model.handler(post({ ...base, user: 'me' }));
    const extracted = (): readonly unknown[] =>
      model
        .extractExperiencesFromHistory()
        .map(({ eid, responseText }) => [eid.step, responseText]);
    expect(extracted()).toEqual([[0, 'b']]);
    await (await model.handler(post(base))).text();
    expect(extracted()).toEqual([[1, 'a']]);
    expect(extracted()).toEqual([]);
  });

  it('stays out when a client invents its id before the call', async () => {
    const { model } = scripted(['a<|im_end|>', 'b<|im_end|>']);
    const invented = [{ id: 'call_1_0_0', type: 'function', function: { name: 'f' } }];
    const called = { role: 'assistant', tool_calls: invented };
    await model.handler(post({ ...base, messages: [...messages, called, ...messages] }));
    const client = new AbortController();
    await model.handler(post(base, {}, client.signal));
    client.abort();
    expect(steps(model)).toEqual([0]);
  });

  it('was none at all when the client left during the generation', async () => {
    const { model, runtime, sampler } = slow(['a<|im_end|>', 'b<|im_end|>']);
    const client = new AbortController();
    const first = model.handler(post(base, {}, client.signal));
    await runtime.clock.advance(1000);
    client.abort();
    const response = await first;
    expect([response.status, await response.json()]).toEqual([
      499,
      {
        error: {
          message: expect.any(String) as string,
          type: 'client_gone',
          param: null,
          code: 'client_closed_request',
        },
      },
    ]);
    await runtime.clock.advance(0);
    expect(sampler.inFlight).toBe(0);
    expect(steps(model)).toEqual([]);
    expect(runtime.clock.sleeping).toBe(0);
  });
});

it('keeps no more than a few answers', async () => {
  const inner = scriptedSampler({ script: () => encode('a<|im_end|>') });
  let calls = 0;
  const sampler: Sampler = {
    ...inner,
    policyVersion: 0,
    sample: (...args) => (calls++, inner.sample(...args)),
  };
  const model = modelOver(sampler);
  for (let user = 0; user < 40; user++)
    await (await model.handler(post({ ...base, user: `${user}` }))).text();
  const retry = { 'x-stainless-retry-count': '1' };
  await (await model.handler(post({ ...base, user: '39' }, retry))).text();
  expect(calls).toBe(40);
  await (await model.handler(post({ ...base, user: '0' }, retry))).text();
  expect(calls).toBe(41);
});
