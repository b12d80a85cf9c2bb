/** What the client does when the server refuses, is busy, is away or answers nonsense. */
import type { Clock } from '@trinity-rft/core';
import { silentLogger } from '@trinity-rft/core/internal';
import {
  decodeForwardBackward,
  encodeForwardBackwardResult,
  type ForwardBackwardResult,
} from '@trinity-rft/tinker-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { connect } from '../src/http/connection.js';
import { createCalls } from '../src/remote/calls.js';
import { createModel, type RemoteModel } from '../src/remote/model.js';
import { openSession } from '../src/remote/session.js';
import { scoreData } from '../src/train/passes.js';
import {
  scriptedServer,
  type Received,
  type Reply,
  type ScriptedServer,
} from './support/scripted-server.js';

/** Every pause is over at once; `waited` are their lengths. */
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

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const created = { model_id: 'm', request_id: 'created' };
const verbOf = ({ path }: Received): string => path.split('/').at(-1) ?? '';

/** A model on a server that answers as `answer` says, else as if nothing were wrong. */
async function modelOn(
  answer: (verb: string, request: Received) => Reply | 'cut' | undefined,
): Promise<{ model: RemoteModel; server: ScriptedServer; clock: ReturnType<typeof hurriedClock> }> {
  const server = await scriptedServer((request) => {
    const verb = verbOf(request);
    const reply = answer(verb, request);
    if (reply === 'cut') return undefined;
    if (reply !== undefined) return reply;
    if (verb === 'create_session') return { body: { session_id: 's' } };
    if (verb === 'create_model') return { body: created };
    if (verb !== 'retrieve_future') return { body: { request_id: verb } };
    return { body: { model_id: 'm', path: 'tinker://m/weights/x', metrics: {} } };
  });
  open.push(() => server.close());
  const clock = hurriedClock();
  const options = { baseUrl: server.url, apiKey: 'tml-key', clock, patienceMs: 60_000 };
  const calls = createCalls({ connection: connect(options), clock, resultMs: 60_000 });
  const session = await openSession(calls, { clock, logger: silentLogger });
  open.push(() => session.close());
  const context = { calls, session, clock, logger: silentLogger, placeMs: 60_000 };
  const lora = { rank: 4, seed: 1 };
  return { model: await createModel(context, { baseModel: 'b', lora }), server, clock };
}

const isResultOf = (verb: string, { json }: Received, name: string): boolean =>
  verb === 'retrieve_future' && json?.['request_id'] === name;

const adam = { learning_rate: 0 };
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

  it('may cut the connection: the request is sent again', async () => {
    let cuts = 3;
    const { model } = await modelOn((verb) =>
      verb === 'optim_step' && cuts-- > 0 ? 'cut' : undefined,
    );
    await expect(model.step(adam)).resolves.toEqual({});
  });

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
    const { model, server } = await modelOn((verb, request) =>
      isResultOf(verb, request, 'optim_step') ? notReady.shift() : undefined,
    );
    await model.step(adam);
    expect(server.received.filter((one) => one.json?.['request_id'] === 'optim_step')).toHaveLength(
      3,
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
    [401, 'bad key', 'TINKER_FORBIDDEN', /TINKER_API_KEY/],
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
