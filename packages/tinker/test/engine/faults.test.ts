/**
 * Behaviour of the client when the server refuses, is busy, is unreachable or sends invalid answers.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Clock, CancelledError, silentLogger, systemClock } from '@trinity-rft/core';
import { serverRestartedKey, type Sampler } from '@trinity-rft/core/engine';
import {
  decodeForwardBackward,
  encodeForwardBackwardResult,
  encodeSampleResult,
  type ForwardBackwardResult,
  type SampleResult,
} from '../../src/protocol/index.js';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTinkerEngine } from '../../src/engine/engine.js';
import { connect } from '../../src/engine/http/connection.js';
import { createCalls } from '../../src/engine/remote/calls.js';
import { createModel, type RemoteModel } from '../../src/engine/remote/model.js';
import { removeSaved, statusOf } from '../../src/engine/remote/saved.js';
import { openSession } from '../../src/engine/remote/session.js';
import { holdSampling } from '../../src/engine/sample/handle.js';
import { createSampler } from '../../src/engine/sample/sampler.js';
import { scoreData } from '../../src/engine/train/passes.js';
import { checkRows } from '../../src/engine/train/rows.js';
import {
  scriptedServer,
  type Answer,
  type Received,
  type Reply,
  type ScriptedServer,
} from './support/scripted-server.js';

/** Clock whose pauses end at once. `waited` contains their lengths. */
function hurriedClock(): Clock & { readonly waited: readonly number[] } {
  const waited: number[] = [];
  let now = 0;
  return {
    waited,
    now: () => now,
    after: () => () => undefined,
    sleep: (ms) => {
      waited.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}

/** A hurried clock whose pauses also let timers end. */
function ringingClock(): Clock {
  const hurried = hurriedClock();
  const timers = new Map<() => void, number>();
  return {
    ...hurried,
    after: (ms, callback) => {
      timers.set(callback, hurried.now() + ms);
      return () => timers.delete(callback);
    },
    sleep: async (ms) => {
      await hurried.sleep(ms);
      for (const [callback, at] of timers)
        if (at <= hurried.now() && timers.delete(callback)) callback();
    },
  };
}

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const created = { model_id: 'm', request_id: 'created' };
const verbOf = ({ path }: Received): string => path.split('/').at(-1) ?? '';

/** A model on a server that answers with `answer`, or normally if `answer` returns nothing. */
async function modelOn(
  answer: (verb: string, request: Received) => Answer | undefined,
): Promise<{ model: RemoteModel; server: ScriptedServer; clock: ReturnType<typeof hurriedClock> }> {
  const server = await scriptedServer((request) => {
    const verb = verbOf(request);
    const reply = answer(verb, request);
    if (reply === 'cut' || reply === 'silent') return reply;
    if (reply !== undefined) return reply;
    if (verb === 'create_session') return { body: { session_id: 's' } };
    if (verb === 'create_model') return { body: created };
    if (verb !== 'retrieve_future') return { body: { request_id: verb } };
    return { body: { model_id: 'm', path: 'tinker://m/weights/x', metrics: {} } };
  });
  open.push(() => server.close());
  const clock = hurriedClock();
  const logger = silentLogger;
  const options = { baseUrl: server.url, apiKey: 'tml-key', clock, logger, patienceMs: 60_000 };
  const calls = createCalls({ connection: connect(options), clock, resultMs: 60_000 });
  const session = await openSession(calls, { clock, logger: silentLogger });
  open.push(() => session.close());
  const context = { calls, session, clock, logger: silentLogger, placeMs: 60_000 };
  const lora = { rank: 4, seed: 1 };
  return { model: await createModel(context, { baseModel: 'b', lora }), server, clock };
}

const isResultOf = (verb: string, { json }: Received, name: string): boolean =>
  verb === 'retrieve_future' && json?.['request_id'] === name;

const adam = {
  learning_rate: 0,
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weight_decay: 0,
  grad_clip_norm: 0,
};
const scored = encodeForwardBackwardResult({
  outputType: 'scalar',
  outputs: [{ logprobs: Float32Array.of(-1, -2) }],
  metrics: {},
});
const datum = { tokens: Int32Array.of(1, 2), inputs: { target_tokens: Int32Array.of(2, 3) } };

describe('a server that is busy', () => {
  it('is asked again after the pause that it asks for, with the same number', async () => {
    let busy = 2;
    const { model, server, clock } = await modelOn((verb) => {
      if (verb !== 'optim_step' || busy-- <= 0) return undefined;
      return { status: busy === 1 ? 429 : 503, headers: { 'retry-after': '7' } };
    });
    await model.step(adam);
    expect(clock.waited).toEqual([7000, 7000]);
    const steps = server.received.filter((request) => verbOf(request) === 'optim_step');
    expect(steps.map(({ json }) => json?.['seq_id'])).toEqual([1, 1, 1]);
    expect(new Set(server.received.map(({ key }) => key))).toEqual(new Set(['tml-key']));
  });

  it.each(['0', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    'and asks for no pause (%s) is asked again after one of our own',
    async (header) => {
      let busy = 3;
      const { model, clock } = await modelOn((verb) =>
        verb === 'optim_step' && busy-- > 0
          ? { status: 503, headers: { 'retry-after': header } }
          : undefined,
      );
      await model.step(adam);
      expect(clock.waited).toEqual([250, 500, 1000]);
    },
  );

  it('may cut the connection: the request is sent again', async () => {
    let cuts = 3;
    const { model } = await modelOn((verb) =>
      verb === 'optim_step' && cuts-- > 0 ? 'cut' : undefined,
    );
    await expect(model.step(adam)).resolves.toEqual({});
  });

  it.each<readonly [string, (model: RemoteModel) => Promise<unknown>]>([
    ['save_weights', (model) => model.saveWeights('x')],
    ['save_weights_for_sampler', (model) => model.saveForSampling()],
    ['load_weights', (model) => model.load('tinker://m/weights/x', true)],
  ])(
    'may lose the connection during %s: the run resumes from its last checkpoint',
    async (name, ask) => {
      const { model, server } = await modelOn((verb) => (verb === name ? 'cut' : undefined));
      await expect(ask(model)).rejects.toMatchObject({
        code: 'ENGINE_WORKER_DIED',
        message: expect.stringMatching(/broke when it was asked to .*nothing says whether it did/),
        details: { [serverRestartedKey]: true },
      });
      expect(server.received.filter((request) => verbOf(request) === name)).toHaveLength(1);
    },
  );

  it('is given up when it stays away, without its key being said', async () => {
    const { model } = await modelOn((verb) => (verb === 'optim_step' ? 'cut' : undefined));
    const failed: Error = await model.step(adam).then(Promise.reject, (error: Error) => error);
    expect(failed).toMatchObject({ code: 'ENGINE_WORKER_DIED' });
    expect(failed.message).toMatch(/could not be asked to update the weights.*continues from/);
    expect(failed.message).not.toContain('tml-key');
  });

  it('has no place for another adapter until one is freed', async () => {
    let full = 2;
    const { model, clock } = await modelOn((verb, request) =>
      isResultOf(verb, request, 'created') && full-- > 0
        ? { status: 400, body: { detail: 'Maximum number of LoRA adapters (3) reached' } }
        : undefined,
    );
    expect([model.id, clock.waited]).toEqual(['m', [5000, 5000]]);
  });
});

describe('a result', () => {
  it('is polled for while it is not ready, however the server says so', async () => {
    const notReady: Reply[] = [
      { status: 408, body: { detail: 'Timeout waiting for result' } },
      { body: { type: 'try_again', queue_state: 'active' } },
    ];
    const { model, server, clock } = await modelOn((verb, request) =>
      isResultOf(verb, request, 'optim_step') ? notReady.shift() : undefined,
    );
    await model.step(adam);
    expect(clock.waited).toEqual([1, 2]);
    expect(server.received.filter((one) => one.json?.['request_id'] === 'optim_step')).toHaveLength(
      3,
    );
  });

  it('that takes long is spoken of, also if each poll is answered at once', async () => {
    const lines: string[] = [];
    const { url, close } = await scriptedServer(() => ({ status: lines.length > 0 ? 200 : 408 }));
    open.push(close);
    const logger = { info: (line: string) => lines.push(line), warn: () => undefined };
    const clock = ringingClock();
    const options = { baseUrl: url, apiKey: undefined, clock, logger, patienceMs: 60_000 };
    const calls = createCalls({ connection: connect(options), clock, resultMs: 60_000 });
    await calls.result('x', z.unknown(), { what: 'compute gradients' });
    expect(lines[0]).toMatch(
      /^Waiting for the Tinker server http:.* to compute gradients \(5 s until now\)\.$/,
    );
  });

  it('that never comes ends the wait', async () => {
    let polls = 0;
    const { model, clock } = await modelOn((verb, request) => {
      if (!isResultOf(verb, request, 'optim_step')) return undefined;
      void clock.sleep(++polls * 1000);
      return { status: 408 };
    });
    await expect(model.step(adam)).rejects.toThrow('did not update the weights within 1 min');
  });

  it.each([
    [404, 'Future not found', 'ENGINE_WORKER_DIED', /forgotten the run.*last checkpoint/],
    [400, 'Model m not loaded (stale)', 'ENGINE_WORKER_DIED', /forgotten the run/],
    [400, "Loss functions ['gspo'] are not supported", 'TINKER_UNSUPPORTED', /gspo/],
    [409, 'Sequence conflict: expected 8, got 7', 'ENGINE_WORKER_DIED', /last checkpoint/],
    [401, 'bad key', 'TINKER_FORBIDDEN', /TINKER_API_KEY/],
    [400, '[Errno 28] No space left on device', 'TINKER_STORAGE', /Free space.*last checkpoint/],
  ])('of %i "%s" is an error of code %s', async (status, detail, code, message) => {
    const { model } = await modelOn((verb, request) =>
      isResultOf(verb, request, 'optim_step') ? { status, body: { detail } } : undefined,
    );
    const failed: unknown = await model.step(adam).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  const result = (outputs: ForwardBackwardResult['outputs']): Uint8Array =>
    encodeForwardBackwardResult({ outputType: 'scalar', outputs, metrics: {} });
  it.each<readonly [string, Uint8Array | object, RegExp]>([
    [
      'with NaN',
      result([{ logprobs: Float32Array.of(-1, NaN) }]),
      /NaN as log-probability of token 2 of row 0/,
    ],
    [
      'of another length',
      result([{ logprobs: Float32Array.of(-1) }]),
      /1 log-probabilities for 2 tokens of row 0/,
    ],
    ['of other rows', result([]), /0 results for 1 rows/],
    ['that is no protobuf', { logprobs: [] }, /instead of protobuf/],
    ['of damaged bytes', Uint8Array.of(255, 255), /cannot be used/],
  ])('%s is named', async (_, body, message) => {
    const { model, server } = await modelOn((verb, request) =>
      isResultOf(verb, request, 'forward_backward') ? { body } : undefined,
    );
    await expect(scoreData(model, [datum])).rejects.toThrow(message);
    const pass = server.received.find((request) => verbOf(request) === 'forward_backward');
    expect(decodeForwardBackward(pass?.bytes ?? new Uint8Array())).toMatchObject({
      modelId: 'm',
      seqId: 1,
      forwardOnly: true,
    });
  });
});

describe('a server that continues from saved weights', () => {
  const restored =
    'Future with request ID x was cancelled: Server restored from checkpoint step-1.';
  const lost = { code: 'ENGINE_WORKER_DIED', details: { [serverRestartedKey]: true } };

  it('is noticed before a request is repeated', async () => {
    let isRestarted = false;
    const { model, server } = await modelOn((verb, { json }) => {
      if (verb === 'retrieve_future' && json?.['request_id'] === 'forward_backward')
        return isRestarted ? { status: 410, body: { detail: restored } } : { body: scored };
      if (verb !== 'optim_step') return undefined;
      isRestarted = true;
      return 'cut';
    });
    await scoreData(model, [datum]);
    await expect(model.step(adam)).rejects.toMatchObject(lost);
    expect(server.received.filter((one) => verbOf(one) === 'optim_step')).toHaveLength(1);
  });

  it('is noticed before the next request, also if another request failed', async () => {
    let isRestarted = false;
    const { model, server } = await modelOn((verb, request) => {
      if (isRestarted && isResultOf(verb, request, 'optim_step'))
        return { status: 410, body: { detail: restored } };
      if (verb !== 'unload_model' || isRestarted) return undefined;
      isRestarted = true;
      return 'cut';
    });
    await model.step(adam);
    const other = model.unload().catch(() => undefined);
    await expect.poll(() => isRestarted).toBe(true);
    await other;
    await expect(model.step(adam)).rejects.toMatchObject(lost);
    expect(server.received.filter((one) => verbOf(one) === 'optim_step')).toHaveLength(1);
  });

  it('is not supposed after a mere failure', async () => {
    let cuts = 1;
    const { model, server } = await modelOn((verb) =>
      verb === 'optim_step' && cuts-- > 0 ? 'cut' : undefined,
    );
    await model.step(adam);
    await model.step(adam);
    const asked = server.received.filter((one) => one.json?.['request_id'] === 'created');
    expect(asked).toHaveLength(2);
  });
});

it('an engine that could not be opened asks for nothing more', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trinity-faults-'));
  open.push(() => rmSync(directory, { recursive: true }));
  const config = { vocab_size: 8, max_position_embeddings: 16 };
  writeFileSync(path.join(directory, 'config.json'), JSON.stringify(config));
  const answers: Readonly<Record<string, Reply>> = {
    get_server_capabilities: { body: { supported_models: [{ model_name: 'b' }] } },
    create_session: { body: { session_id: 's' } },
    create_model: { body: created },
    retrieve_future: { body: created },
    unload_model: { status: 503 },
  };
  const server = await scriptedServer((request) => answers[verbOf(request)] ?? { status: 422 });
  open.push(() => server.close());
  const pauses: (AbortSignal | undefined)[] = [];
  const { promise: isRefused, resolve } = Promise.withResolvers<void>();
  // The wait for the server's goodbye ends when unloading has failed once.
  const sleep: Clock['sleep'] = (ms, signal) => {
    if (ms === 5000) return isRefused;
    pauses.push(signal);
    resolve();
    return new Promise(() => undefined);
  };
  const options = { modelPath: directory, apiKey: 'tml-key', baseUrl: server.url };
  const opened = createTinkerEngine({ ...options, clock: { ...hurriedClock(), sleep } });
  await expect(opened).rejects.toMatchObject({ code: 'TINKER_VOCABULARY' });
  expect(pauses.map((signal) => signal?.aborted)).toEqual([true]);
});

describe('saved weights that are looked for', () => {
  const address = 'tinker://m/weights/x';
  const statusAfter = async (...replies: Reply[]): Promise<number | undefined> => {
    const info = { base_model: 'b', is_lora: true };
    const { url, close } = await scriptedServer(() => replies.shift() ?? { body: info });
    open.push(close);
    const clock = hurriedClock();
    const logger = silentLogger;
    const connection = connect({
      ...{ baseUrl: url, apiKey: undefined, clock, logger, patienceMs: 60_000 },
    });
    return statusOf(createCalls({ connection, clock, resultMs: 1000 }), address);
  };

  it.each([404, 410, 500])('are missing where the server answers %i', async (status) => {
    expect(await statusAfter({ status })).toBe(status);
  });

  it.each([408, 425, 429, 503])('are not missing because the server says %i', async (status) => {
    expect(await statusAfter({ status }, { status })).toBeUndefined();
  });

  it.each([401, 403])('are not missing because the server refuses the key (%i)', async (status) => {
    await expect(statusAfter({ status })).rejects.toMatchObject({ code: 'TINKER_FORBIDDEN' });
  });
});

describe('saved weights that are deleted', () => {
  it.each([
    [404, []],
    [410, []],
    [
      403,
      ['tinker://m/weights/x stays on the Tinker server: it answered 403 when asked to delete it.'],
    ],
  ])('answered %i', async (status, expected) => {
    const { url, close } = await scriptedServer(() => ({ status }));
    open.push(close);
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (line: string) => lines.push(line) };
    const clock = hurriedClock();
    const connection = connect({
      ...{ baseUrl: url, apiKey: undefined, clock, logger, patienceMs: 1000 },
    });
    await removeSaved({ connection, logger }, { modelId: 'm', kind: 'weights', name: 'x' });
    expect(lines).toEqual(expected);
  });
});

describe('the address of a server', () => {
  it.each([
    'gpu-1:8000',
    'localhost',
    'http://bob:s3cret@127.0.0.1:9',
    'http://127.0.0.1:9?k=s3cret',
    'http://127.0.0.1:9#s3cret',
    'gpu-1:8000?key=s3cret',
    'localhost:8000/p?api_key=s3cret',
    'ftp://x?key=s3cret',
    'gpu-1:8000#s3cret',
  ])('is refused before any request: %s', (baseUrl) => {
    const clock = hurriedClock();
    const options = { baseUrl, apiKey: undefined, clock, logger: silentLogger, patienceMs: 1000 };
    expect(() => connect(options)).toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        message: expect.stringMatching(/^(?!.*s3cret).*model\.tinker\.base_url/),
      }),
    );
  });
});

describe('a server that is away', () => {
  it('is spoken of after five seconds with the cause, and no longer waited for once the run stops', async () => {
    const { url, close } = await scriptedServer(() => ({ body: {} }));
    await close();
    const stop = new AbortController();
    const lines: string[] = [];
    const logger = {
      info: () => undefined,
      warn: (line: string) => {
        lines.push(line);
        stop.abort(new Error('The process received SIGTERM.'));
      },
    };
    const clock = {
      ...systemClock,
      after: (ms: number, callback: () => void) => systemClock.after(ms / 100, callback),
    };
    const options = { baseUrl: url, apiKey: undefined, clock, logger, patienceMs: 3_600_000 };
    const connection = connect({ ...options, stop: stop.signal });
    const request = { method: 'GET', path: '/x', what: 'open a session' } as const;
    await expect(connection.send(request)).rejects.toBeInstanceOf(CancelledError);
    expect(lines[0]).toMatch(
      /^Waiting for the Tinker server http:.* to open a session \(5 s until now\): .*could not be asked/,
    );
  });
});

describe('a connection that has died silently', () => {
  /** A connection whose first request is not answered in time. */
  const deadOnce = async () => {
    const timers = new Map<() => void, number>();
    const clock: Clock = {
      ...hurriedClock(),
      after: (ms, callback) => {
        timers.set(callback, ms);
        return () => timers.delete(callback);
      },
    };
    let isDead = true;
    const server = await scriptedServer(() => {
      if (!isDead) return { body: {} };
      isDead = false;
      for (const [callback, ms] of timers) if (ms === 500) callback();
      return 'silent';
    });
    open.push(() => server.close());
    const connection = connect({
      ...{ baseUrl: server.url, apiKey: undefined, clock, patienceMs: 1000 },
      logger: silentLogger,
    });
    const request = { method: 'POST', path: '/x', what: 'try', timeoutMs: 500 } as const;
    const send = async (place: 'future' | 'submit', repeat: 'always' | 'unsent') => {
      const answer = await connection.send({ ...request, place, repeat });
      return { answer, ...connection.takeCounts() };
    };
    return { server, send };
  };

  it('is a result that is not ready, which is polled for again', async () => {
    const { send } = await deadOnce();
    expect((await send('future', 'always')).answer).toBeUndefined();
    expect((await send('future', 'always')).answer?.status).toBe(200);
  });

  it('has a request sent again that the server recognises, and no other', async () => {
    const { send } = await deadOnce();
    expect(await send('submit', 'always')).toMatchObject({ requests: 2, retries: 1 });
    const other = await deadOnce();
    await expect(other.send('submit', 'unsent')).rejects.toMatchObject({
      code: 'ENGINE_WORKER_DIED',
    });
    expect(other.server.received).toHaveLength(1);
  });
});

describe('a sample', () => {
  const samplerOn = async (
    sequences: SampleResult['sequences'],
    { polls = 0, logger = silentLogger, clock = hurriedClock() as Clock } = {},
  ): Promise<Sampler> => {
    let left = polls;
    const server = await scriptedServer((request) => {
      if (verbOf(request) === 'asample') return { body: { request_id: 's' } };
      return left-- > 0 ? { status: 408 } : { body: encodeSampleResult({ sequences }) };
    });
    open.push(() => server.close());
    const options = { baseUrl: server.url, apiKey: undefined, clock, logger, patienceMs: 1000 };
    const handle = holdSampling('session', { logger: silentLogger });
    return createSampler({
      calls: createCalls({ connection: connect(options), clock, resultMs: 60_000 }),
      limits: { vocabSize: 8, maxModelLen: 16 },
      tokenBytes: undefined,
      weightsOf: () => Promise.resolve(handle),
      initialWeights: () => Promise.resolve(handle),
    });
  };
  const sequence = (tokens: readonly number[], logprobs: readonly number[]) => ({
    stopReason: 'length' as const,
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
  });

  it.each([
    ['with NaN', [sequence([1, 2], [-1, Number.NaN])], /log-probability NaN at token 1/],
    ['of two lengths', [sequence([1, 2], [-1])], /2 tokens and 1 log-probabilities/],
    ['that is too long', [sequence([1, 2, 3, 4], [-1, -1, -1, -1])], /more than the 3 asked for/],
    ['beyond the vocabulary', [sequence([1, 8], [-1, -1])], /sampled the id 8.*ends at 7/],
    ['in another number', [], /0 samples, expected 1/],
  ])('%s is named, and concerns its rollout only', async (_, sequences, message) => {
    const sampler = await samplerOn(sequences);
    const failed = sampler.sample(Int32Array.of(1), { maxTokens: 3, seed: 1 });
    await expect(failed).rejects.toMatchObject({
      code: 'TINKER_ANSWER',
      message: expect.stringMatching(message),
    });
  });

  it('may take long without a line for each', async () => {
    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const given = { polls: 100, logger: { ...silentLogger, info: say, warn: say } };
    const sampler = await samplerOn([sequence([1], [-1])], { ...given, clock: ringingClock() });
    await sampler.sample(Int32Array.of(1), { maxTokens: 3, seed: 1 });
    expect(lines).toEqual([]);
  });

  it('is not asked for with ids beyond the vocabulary, and no row is scored', async () => {
    const sampler = await samplerOn([]);
    const prompt = Int32Array.of(1, 8);
    await expect(sampler.sample(prompt, { maxTokens: 3, seed: 1 })).rejects.toThrow(
      'The prompt holds the id 8 at position 1, and the vocabulary ends at 7.',
    );
    const row = { tokens: Int32Array.of(1, 2, -1), promptLength: 1, temperature: 1 };
    await expect(sampler.score?.(row)).rejects.toThrow('holds the id -1 at position 2');
    expect(() => checkRows([row], { vocabSize: 8, maxModelLen: 16 })).toThrow(
      'Row 0 of the batch holds the id -1 at position 2, and the vocabulary ends at 7.',
    );
  });
});
