/** Models that a client trains over HTTP. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { fakeEngine, manualClock, testRuntime } from '@trinity-rft/testing';
import { encodeForwardBackward } from '../../src/protocol/index.js';
import { describe, expect, it } from 'vitest';
import type { TinkerModel } from '../../src/server/index.js';
import {
  apiKey,
  createModel,
  createSession,
  datum,
  get,
  modelOf,
  post,
  resultOf,
  sample,
  prompt,
  startServer,
} from './client.js';

const text = [1, 5, 2, 7, 3];
const weights = [0, 1, 0.5, 2];
const adam = { learning_rate: 0.1, beta1: 0.9, beta2: 0.95, eps: 1e-8 };

describe('a model in training', () => {
  it('gets the very update that its engine makes of the same gradient', async () => {
    const { url, engines } = await startServer();
    const model = await createModel(url);
    const { metrics, outputs } = await model.pass({ data: [datum(text, { weights })] });
    const { metrics: stepMetrics } = await model.call('optim_step', { adam_params: adam });

    const alone = fakeEngine({ seed: 3 });
    const row = { tokens: Int32Array.from(text), promptLength: 1, temperature: 1 };
    const pass = await alone.trainer.forward({ rows: [row] });
    await alone.trainer.backward(pass, { logprobs: Float32Array.from(weights, (w) => -w) });
    const { gradNorm } = await alone.trainer.step({
      learningRate: 0.1,
      betas: [0.9, 0.95],
      epsilon: 1e-8,
      weightDecay: 0,
      clipGradNorm: 0,
    });
    expect(engines[0]?.weights()).toEqual(alone.weights());
    expect(outputs[0]?.['logprobs']).toEqual(pass.logprobs);
    const loss = pass.logprobs.reduce((sum, p, i) => sum - p * (weights[i] ?? 0), 0);
    expect(metrics['loss:sum']).toBeCloseTo(loss, 5);
    expect(stepMetrics).toEqual({ 'trinity/grad_norm': gradNorm, 'trinity/learning_rate': 0.1 });
  });

  it('only scores when it is asked to', async () => {
    const { url, engines } = await startServer();
    const model = await createModel(url);
    const { outputs } = await model.pass({ data: [datum(text), datum([1, 2])], forwardOnly: true });
    expect(outputs.map(({ logprobs }) => logprobs?.length)).toEqual([4, 1]);
    const masked = {
      weights: Float32Array.of(0, 1, 0, 0),
      target_tokens: Int32Array.of(0, 2, 0, 3),
    };
    const { outputs: found } = await model.pass({
      data: [{ ...datum(text), inputs: masked }],
      forwardOnly: true,
    });
    expect(found[0]?.['logprobs']).toEqual(outputs[0]?.['logprobs']);
    const before = engines[0]?.weights();
    await model.call('optim_step', { adam_params: adam });
    expect(engines[0]?.weights()).toEqual(before);
  });

  it('takes a request once, however often it is sent', async () => {
    const { url } = await startServer();
    const model = await createModel(url);
    const body = { model_id: model.id, seq_id: 1, adam_params: adam };
    const first = await post(url, 'optim_step', body);
    expect((await post(url, 'optim_step', body)).body).toEqual(first.body);
    const other = await post(url, 'optim_step', { ...body, adam_params: { learning_rate: 1 } });
    expect(other).toMatchObject({ status: 409, body: { detail: /seq_id 1/ } as never });
  });

  it('takes each request without a number as one of its own, and so each model', async () => {
    const { url } = await startServer();
    const model = await createModel(url);
    const numbered = await createModel(url, model.session, 1);
    const request = { data: [datum(text, { weights })] };
    for (const seqId of [undefined, 0, 0]) {
      await model.pass({ ...request, seqId });
      await numbered.pass(request);
    }
    expect(await model.call('optim_step', { adam_params: adam, seq_id: null })).toEqual(
      await numbered.call('optim_step', { adam_params: adam }),
    );

    const asked = { session_id: model.session, base_model: 'bigrams' };
    const { path } = await model.call('save_weights', { path: 'first' });
    const created = [
      await post(url, 'create_model', asked),
      await post(url, 'create_model', asked),
      await post(url, 'load_weights', { ...asked, path }),
      await post(url, 'load_weights', { ...asked, path }),
    ];
    for (const one of created) await resultOf(url, one);
    expect(new Set(created.map(({ body }) => body['model_id'])).size).toBe(4);
  });

  it('goes on from saved weights, with or without moments, after the server has been restarted', async () => {
    const { url, directory } = await startServer();
    const model = await createModel(url);
    const learn = async (pupil: typeof model): Promise<unknown> => {
      await pupil.pass({ data: [datum(text, { weights })] });
      await pupil.call('optim_step', { adam_params: adam });
      return (await pupil.pass({ data: [datum(text)], forwardOnly: true })).outputs[0]?.[
        'logprobs'
      ];
    };
    await learn(model);
    const { path: uri } = await model.call('save_weights', { path: 'first' });
    expect(uri).toBe(`tinker://${model.id}/weights/first`);
    const taken = model.call('save_weights', { path: 'first' });
    await expect(taken).rejects.toThrow(/first exists already/);
    await model.call('save_weights', { path: 'first', overwrite: true });
    const expected = await learn(model);

    const { url: later } = await startServer({ directory });
    const session = await createSession(later);
    const loaded = async (number: number, optimizer: boolean) => {
      const body = { session_id: session, model_seq_id: number, path: uri, optimizer };
      const { body: result } = await resultOf(later, await post(later, 'load_weights', body));
      expect(result).toMatchObject({ model_id: `${session}:train:${number}` });
      return modelOf(later, session, String(result['model_id']));
    };
    expect(await learn(await loaded(0, true))).toEqual(expected);
    expect(await learn(await loaded(1, false))).not.toEqual(expected);
    expect((await get(later, 'checkpoints')).body['checkpoints']).toMatchObject([
      { checkpoint_id: 'weights/first', tinker_path: uri },
    ]);
    const info = await post(later, 'weights_info', { tinker_path: uri });
    expect(info.body).toMatchObject({ base_model: 'bigrams', is_lora: false });
  });

  it('deletes saved weights when their time is over, and says which are public', async () => {
    let now = 0;
    const runtime = testRuntime();
    const clock = { ...runtime.clock, now: () => runtime.clock.now() + now };
    const { url } = await startServer({ runtime: { ...runtime, clock } });
    const model = await createModel(url);
    for (const [name, seconds] of [
      ['kept', null],
      ['short', 60],
      ['longer', 60],
    ] as const)
      await model.call('save_weights', { path: name, ttl_seconds: seconds });
    const at = (name: string, what: string): string =>
      `${url}/api/v1/training_runs/${model.id}/checkpoints/weights/${name}/${what}`;
    const send = async (method: string, place: string, body?: object): Promise<number> => {
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const request = { method, headers, body: body && JSON.stringify(body) };
      return (await fetch(place, request)).status;
    };
    expect(await send('PUT', at('longer', 'ttl'), { ttl_seconds: null })).toBe(204);
    expect(await send('POST', at('kept', 'publish'))).toBe(204);
    expect(await send('PUT', at('none', 'ttl'), { ttl_seconds: 5 })).toBe(404);
    expect(await send('PUT', at('kept', 'ttl'), { ttl_seconds: -1 })).toBe(422);
    const listed = async () => {
      const { checkpoints } = (await get(url, 'checkpoints')).body as {
        checkpoints: { checkpoint_id: string; public: boolean; expires_at: string | null }[];
      };
      return checkpoints
        .map((one) => [one.checkpoint_id, one.public, one.expires_at !== null] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
    };
    const all = [
      ['weights/kept', true, false],
      ['weights/longer', false, false],
      ['weights/short', false, true],
    ];
    expect(await listed()).toEqual(all);
    now = 61_000;
    expect(await listed()).toEqual(all.slice(0, 2));
    const path = `tinker://${model.id}/weights/short`;
    expect((await post(url, 'weights_info', { tinker_path: path })).status).toBe(404);
    expect(await send('DELETE', at('kept', 'publish'))).toBe(204);
    expect(await listed()).toContainEqual(['weights/kept', false, false]);
    // The name can be used again.
    await model.call('save_weights', { path: 'short' });
  });

  it('is freed when its client has been silent', async () => {
    const clock = manualClock();
    const { url } = await startServer({ runtime: { ...testRuntime(), clock } });
    const model = await createModel(url);
    await clock.advance(299_000);
    await post(url, 'session_heartbeat', { session_id: model.session });
    await clock.advance(299_000);
    const alive = await post(url, 'get_info', { model_id: model.id });
    expect(alive.body).toMatchObject({ model_id: model.id, model_name: 'bigrams' });
    await clock.advance(2000);
    expect(await post(url, 'get_info', { model_id: model.id })).toMatchObject({ status: 404 });
    expect(await post(url, 'session_heartbeat', { session_id: model.session })).toMatchObject({
      status: 404,
    });
  });

  it('makes room for others when its client has missed its heartbeats for longest', async () => {
    const clock = manualClock();
    const { url } = await startServer({ runtime: { ...testRuntime(), clock }, maxRuns: 2 });
    await createSession(url);
    const later = await createModel(url);
    const first = await createModel(url);
    await clock.advance(1000);
    await post(url, 'session_heartbeat', { session_id: later.session });
    const session = await createSession(url);
    const body = { session_id: session, model_seq_id: 0, base_model: 'bigrams' };
    await clock.advance(29_000);
    await post(url, 'session_heartbeat', { session_id: session });
    expect(await post(url, 'create_model', body)).toMatchObject({ status: 400 });
    await clock.advance(10_000);
    expect(await post(url, 'create_model', body)).toMatchObject({ status: 200 });
    expect(await post(url, 'get_info', { model_id: later.id })).toMatchObject({ status: 200 });
    expect(await post(url, 'session_heartbeat', { session_id: first.session })).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('35 s while another client needed its place') },
    });
  });

  it('keeps its place when its client asks for another, and takes no session without models', async () => {
    const clock = manualClock();
    const { url } = await startServer({ runtime: { ...testRuntime(), clock }, maxRuns: 1 });
    const heard = async (session: string): Promise<number> =>
      (await post(url, 'session_heartbeat', { session_id: session })).status;
    const unloaded = await createModel(url);
    await resultOf(url, await post(url, 'unload_model', { model_id: unloaded.id }));
    const owner = await createModel(url);
    await clock.advance(40_000);
    const body = { session_id: owner.session, model_seq_id: 1, base_model: 'bigrams' };
    expect(await post(url, 'create_model', body)).toMatchObject({ status: 400 });
    expect(await heard(owner.session)).toBe(200);
    await clock.advance(40_000);
    await createModel(url);
    expect([await heard(unloaded.session), await heard(owner.session)]).toEqual([200, 404]);
  });

  it.each([
    [
      ['qkv_proj', 'gate_up_proj', 'o_proj', 'down_proj'],
      ['qkv_proj', 'o_proj'],
    ],
    [
      ['q_proj', 'in_proj', 'out_proj', 'w1', 'w3', 'w2'],
      ['q_proj', 'in_proj', 'out_proj'],
    ],
    [
      ['q_proj', 'o_proj', 'input_linear', 'output_linear'],
      ['q_proj', 'o_proj'],
    ],
  ])(
    'has adapters of the attention or of the MLP, by the names of its family: %j',
    async (linearModules, attention) => {
      const found: unknown[] = [];
      const open: TinkerModel['open'] = async ({ lora }) => {
        found.push(lora);
        return fakeEngine();
      };
      const model = { name: 'bigrams', maxModelLen: 64, linearModules, open };
      const { url } = await startServer({ model });
      const session = await createSession(url);
      for (const [i, isMlp] of [false, true].entries()) {
        const lora = { rank: 4, train_mlp: isMlp, train_attn: !isMlp };
        const asked = { session_id: session, base_model: 'bigrams', lora_config: lora };
        const answer = await post(url, 'create_model', { ...asked, model_seq_id: i });
        expect((await resultOf(url, answer)).body).toMatchObject({ lora_config: lora });
      }
      const mlp = linearModules.filter((name) => !attention.includes(name));
      expect(found).toMatchObject([{ targetModules: attention }, { targetModules: mlp }]);
    },
  );

  it('that cannot be opened or loaded keeps no place', async () => {
    let failures = 1;
    const opening = Promise.withResolvers<void>();
    const open = async () => {
      await opening.promise;
      if (failures-- > 0) throw new Error('out of memory');
      return fakeEngine();
    };
    const model = { name: 'bigrams', maxModelLen: 64, open };
    const { url, directory } = await startServer({ maxRuns: 1, model });
    const session = await createSession(url);
    const body = { session_id: session, model_seq_id: 0, base_model: 'bigrams' };
    const created = await post(url, 'create_model', body);
    const first = { model_id: created.body['model_id'], adam_params: adam };
    const queued = await post(url, 'optim_step', first);
    opening.resolve();
    const failed = await resultOf(url, created);
    expect(failed.body).toMatchObject({ error: 'out of memory' });
    const { body: behind } = await resultOf(url, queued);
    expect(behind['error']).toContain('or because it could not be opened');
    const { id, call } = await createModel(url, session, 1);
    const { path: uri } = await call('save_weights', { path: 'a' });
    await resultOf(url, await post(url, 'unload_model', { model_id: id }));
    rmSync(path.join(directory, id.replaceAll(':', '_'), 'weights', 'a', 'resume'), {
      recursive: true,
    });
    const load = { session_id: session, model_seq_id: 2, path: uri };
    const lost = await resultOf(url, await post(url, 'load_weights', load));
    expect(lost.body).toMatchObject({ category: 'user' });
    await createModel(url, session, 3);
  });

  it('is refused when the server holds as many as it may', async () => {
    const { url } = await startServer({ maxRuns: 1 });
    const model = await createModel(url);
    const body = { session_id: model.session, model_seq_id: 1, base_model: 'bigrams' };
    expect(await post(url, 'create_model', body)).toMatchObject({ status: 400 });
    await resultOf(url, await post(url, 'unload_model', { model_id: model.id }));
    await expect.poll(() => post(url, 'create_model', body)).toMatchObject({ status: 200 });
  });
});

describe('a failed request', () => {
  it('is told to its client, and changes nothing', async () => {
    const { url, engines } = await startServer();
    const model = await createModel(url);
    const data = [datum(text, { weights })];
    await model.pass({ data });
    engines[0]?.failNext('step', new Error('The engine is out of memory.'));
    const failed = model.call('optim_step', { adam_params: adam });
    await expect(failed).rejects.toThrow('The engine is out of memory.');
    const { path: uri } = await model.call('save_weights', { path: 'a' });
    const code = 'CHECKPOINT_OTHER_ADAPTERS';
    engines[0]?.failNext('load', new CheckpointError('The base model has changed.', { code }));
    const unloaded = model.call('load_weights', { path: uri });
    await expect(unloaded).rejects.toThrow(/^The base model has changed\.$/);
    expect(
      (
        await sample(url, {
          base_model: 'bigrams',
          prompt: prompt(1),
          sampling_params: { max_tokens: 2 },
        })
      ).sequences,
    ).toHaveLength(1);
    await model.call('optim_step', { adam_params: adam });
  });

  const body = { model_id: 'MODEL', seq_id: 1 };
  const pass = (data: readonly ReturnType<typeof datum>[], more: object = {}) =>
    encodeForwardBackward({ modelId: 'MODEL', seqId: 1, lossFn: 'cross_entropy', data, ...more });
  it.each([
    ['forward_backward', {}, 415, /application\/x-protobuf/],
    ['forward_backward', new Uint8Array([1, 2, 3]), 422, /no forward_backward request/],
    ['forward_backward', pass([]), 422, /data is empty/],
    ['forward_backward', pass([datum([1], {})]), 422, /data\[0\]\.model_input has no tokens/],
    ['forward_backward', pass([datum(text)]), 422, /data\[0\]\.loss_fn_inputs\.weights is missing/],
    [
      'forward_backward',
      pass([datum(text, { weights: [1, 2] })]),
      422,
      /weights has 2 numbers for 4 tokens/,
    ],
    [
      'forward_backward',
      pass([datum(text, { weights: [0, 1, NaN, 0] })]),
      422,
      /weights\[2\] is NaN/,
    ],
    [
      'forward_backward',
      pass([datum(text, { weights, wieghts: weights })]),
      422,
      /wieghts is not known/,
    ],
    [
      'forward_backward',
      pass([{ ...datum(text, { weights }), tokens: Int32Array.of(1, 5, 9, 7) }]),
      422,
      /data\[0\]: target_tokens\[1\] is 2, but the next token of the text is 9/,
    ],
    [
      'forward_backward',
      pass([{ ...datum(text), tokens: Int32Array.of(1, 9, 2, 7) }], { forwardOnly: true }),
      422,
      /data\[0\]: target_tokens\[0\] is 5, but the next token of the text is 9/,
    ],
    [
      'forward_backward',
      pass(
        [
          {
            ...datum(text, {
              ...{ logprobs: weights, advantages: [0, 0, 0, 0] },
              sequence_ratio_mask: [1, 1, 1, 1],
            }),
            tokens: Int32Array.of(1, 9, 2, 7),
          },
        ],
        { lossFn: 'gspo' },
      ),
      422,
      /target_tokens\[0\] is 5, .* and sequence_ratio_mask/,
    ],
    [
      'forward_backward',
      pass(
        [
          {
            ...datum(text, { logprobs: weights, advantages: [0, 0, 0, 0] }),
            tokens: Int32Array.of(1, 9, 2, 7),
          },
        ],
        { lossFn: 'dro' },
      ),
      422,
      /target_tokens\[0\] is 5, .* send the tokens that follow\.$/,
    ],
    [
      'forward_backward',
      pass([datum(text, { weights })], { lossFn: 'dppo' }),
      422,
      /loss_fn is "dppo".*dro/,
    ],
    [
      'forward_backward',
      pass([datum(text, { logprobs: weights, advantages: weights })], {
        lossFn: 'dro',
        lossConfig: { beta: 'none' },
      }),
      422,
      /loss_fn_config\.beta of dro must be a finite number/,
    ],
    [
      'forward_backward',
      pass([datum(text, { weights })], { lossConfig: { clip: 1 } }),
      422,
      /loss_fn_config\.clip is not a setting of cross_entropy/,
    ],
    [
      'optim_step',
      { ...body, adam_params: { learning_rate: -1 } },
      422,
      /body\.adam_params\.learning_rate/,
    ],
    [
      'optim_step',
      { ...body, adam_params: {}, momentum: 1 },
      422,
      /body\.momentum is not supported/,
    ],
    ['optim_step', '{', 400, /not JSON/],
    ['optim_step', { ...body, model_id: 'other', adam_params: {} }, 404, /no model other/],
    ['save_weights', { ...body, path: '../up' }, 422, /"\.\.\/up" is no name/],
    ['save_weights', { ...body, path: 'a', ttl_seconds: 0 }, 422, /body\.ttl_seconds/],
    ['load_weights', { ...body, path: 'tinker://a/weights/b' }, 404, /no weights at/],
    ['load_weights', { ...body, path: '/etc/passwd' }, 422, /no address of weights/],
    ['retrieve_future', { request_id: 'x' }, 404, /no request x/],
    ['asample', { prompt: prompt(), base_model: 'bigrams', sampling_params: {} }, 422, /no tokens/],
    ['asample', { prompt: prompt(1), sampling_params: {} }, 422, /base_model or model_path/],
    ['asample', { prompt: prompt(1), base_model: 'x', sampling_params: {} }, 400, /has "bigrams"/],
    [
      'asample',
      { prompt: prompt(1), base_model: 'bigrams', sampling_params: {}, topk_prompt_logprobs: 30 },
      422,
      /topk_prompt_logprobs/,
    ],
    ['nothing', {}, 404, /Not Found/],
  ] as const)('%s: %o', async (verb, request, status, detail) => {
    const { url } = await startServer();
    const { id } = await createModel(url);
    const answer = await post(url, verb, withModel(request, id));
    expect({ status: answer.status, detail: answer.body['detail'] }).toEqual({
      status,
      detail: expect.stringMatching(detail),
    });
  });

  it('has a body that is too large, or not the key', async () => {
    const { url } = await startServer();
    const large = await post(url, 'create_session', { tags: ['x'.repeat(2 ** 26)] });
    expect(large).toMatchObject({ status: 413 });
    for (const key of ['', 'tml-0123456789abcdeg', 'x'.repeat(500)])
      expect(await post(url, 'create_session', {}, { 'x-api-key': key })).toMatchObject({
        status: 401,
      });
    expect((await fetch(`${url}/api/v1/healthz`)).status).toBe(200);
  });
});

/** Replaces `MODEL` by the id of the model. */
function withModel(
  request: object | string | Uint8Array,
  id: string,
): object | string | Uint8Array {
  if (request instanceof Uint8Array) {
    const parts = Buffer.from(request).toString('latin1');
    const length = (text: string): string => String.fromCodePoint(text.length);
    return new Uint8Array(
      Buffer.from(parts.replace(`${length('MODEL')}MODEL`, length(id) + id), 'latin1'),
    );
  }
  return typeof request === 'object' && 'model_id' in request && request.model_id === 'MODEL'
    ? { ...request, model_id: id }
    : request;
}
