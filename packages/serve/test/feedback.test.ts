import { describeError, ModelError } from '@trinity-rft/core';
import { createServeClient } from '@trinity-rft/serve';
import { recordingLogger } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { databasePath, served } from './helpers.js';

describe('feedback', () => {
  it('rewards calls once: the same again changes nothing, other feedback is rejected', async () => {
    const { ask, post, turns } = await served();
    const [a, b] = [await ask(), await ask()];
    const feedback = { reward: 0.5, msg_ids: [a], task_id: 't', run_id: 1 };
    expect(await post('/feedback', feedback)).toMatchObject({
      status: 200,
      json: { status: 'success', applied: [a], already: [] },
    });
    expect(await post('/feedback', feedback)).toMatchObject({
      status: 200,
      json: { applied: [], already: [a] },
    });
    for (const other of [{ reward: 1 }, { task_id: 'u' }, { run_id: 0 }]) {
      const refused = await post('/feedback', { ...feedback, msg_ids: [a, b], ...other });
      expect(refused).toMatchObject({
        status: 409,
        json: { error: { code: 'already_rewarded', msg_ids: [a] } },
      });
    }
    expect(await turns.counts()).toEqual({ total: 2, open: 1, ready: 1, committed: 0 });
    expect(await post('/feedback', { ...feedback, msg_ids: [a, b] })).toMatchObject({
      json: { applied: [b], already: [a] },
    });
    await turns.close();
  });

  it('without a run agrees with the run 0 that earlier versions stored for it', async () => {
    const { ask, post, turns } = await served();
    const [first, second] = [await ask(), await ask()];
    await post('/feedback', { reward: 1, msg_ids: [first], run_id: 0 });
    await post('/feedback', { reward: 1, msg_ids: [second] });
    const again = { reward: 1, msg_ids: [first, second], run_id: null };
    expect((await post('/feedback', again)).json).toMatchObject({ already: [first, second] });
    expect((await post('/feedback', { ...again, run_id: 0 })).status).toBe(409);
    await turns.close();
  });

  it('lists unknown ids and applies nothing then', async () => {
    const { ask, post, turns } = await served();
    const known = await ask();
    const { status, json } = await post('/feedback', {
      reward: 1,
      msg_ids: [known, 'unknown', `${known}:1`, 'x:0'],
    });
    expect([status, json['error']]).toMatchObject([
      404,
      {
        code: 'unknown_msg_ids',
        msg_ids: ['unknown', `${known}:1`, 'x:0'],
        message: expect.stringContaining('client disconnected before they were finished') as string,
      },
    ]);
    expect(await turns.counts()).toMatchObject({ open: 1, ready: 0 });
    await turns.close();
  });

  it('addresses every choice of a call', async () => {
    const { ask, post, turns, store } = await served();
    const id = await ask(3);
    await post('/feedback', { reward: 1, msg_ids: [`${id}:2`], task_id: 't' });
    expect((await post('/feedback', { reward: 0, msg_ids: [id], task_id: 't' })).status).toBe(409);
    await post('/feedback', { reward: 0, msg_ids: [`${id}:0`, `${id}:1`], task_id: 't' });
    await post('/commit');
    expect(store.rows.map(({ eid, reward, tokens }) => [eid.suffix, reward, tokens[1]])).toEqual([
      ['0', 0, 2],
      ['1', 0, 3],
      ['2', 1, 4],
    ]);
    await turns.close();
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{"reward": 1,'],
    ['a list', []],
    ['half a million brackets', '['.repeat(500_000) + ']'.repeat(500_000)],
    ['half a million lists as reward', `{"reward": ${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['null', null],
    ['no reward', { msg_ids: ['a'] }],
    ['a reward of text', { reward: '1', msg_ids: ['a'] }],
    ['an enormous reward', { reward: 1e200, msg_ids: ['a'] }],
    ['an infinite reward', '{"reward": 1e999, "msg_ids": ["a"]}'],
    ['no ids', { reward: 1 }],
    ['an empty list of ids', { reward: 1, msg_ids: [] }],
    ['one id instead of a list', { reward: 1, msg_ids: 'a' }],
    ['ids that are no text', { reward: 1, msg_ids: [1] }],
    ['an endless id', { reward: 1, msg_ids: ['a'.repeat(513)] }],
    ['an id with a NUL', { reward: 1, msg_ids: ['a\0'] }],
    ['half a character', '{"reward": 1, "msg_ids": ["\\ud800"]}'],
    ['too many ids', { reward: 1, msg_ids: Array.from({ length: 10_001 }, (_, i) => `${i}`) }],
    ['an object as task', { reward: 1, msg_ids: ['a'], task_id: {} }],
    ['a negative run', { reward: 1, msg_ids: ['a'], run_id: -1 }],
    ['half a run', { reward: 1, msg_ids: ['a'], run_id: 0.5 }],
    ['a misspelt field', { reward: 1, msg_ids: ['a'], taskid: 't' }],
    ['a prototype', '{"__proto__": {"reward": 1}, "msg_ids": ["a"]}'],
  ])('rejects %s with 400', async (_, body) => {
    const { post, turns } = await served();
    const { status, json } = await post('/feedback', body);
    expect([status, typeof (json['error'] as { readonly message: string }).message]).toEqual([
      400,
      'string',
    ]);
    await turns.close();
  });

  it('keeps what looks like SQL as text', async () => {
    const { ask, post, turns, store } = await served();
    const task = "'); DROP TABLE call; --";
    await post('/feedback', { reward: 1, msg_ids: [await ask()], task_id: task });
    await post('/commit');
    expect(store.rows[0]?.eid.task).toBe(task);
    await turns.close();
  });

  it('survives the end of the process, with the count of starts', async () => {
    const path = databasePath();
    const first = await served({ path });
    const id = await first.ask();
    await first.turns.close();
    const second = await served({ path });
    expect(second.turns.starts).toBe(2);
    expect((await second.post('/feedback', { reward: 1, msg_ids: [id] })).json).toMatchObject({
      applied: [id],
    });
    await second.turns.close();
  });
});

describe('errors', () => {
  it('of a client that disconnects are not logged as faults of the server', async () => {
    const logger = recordingLogger();
    const { serve, turns } = await served({ logger });
    const body = new ReadableStream({ start: (to) => to.error(new Error('reset')) });
    const init = { method: 'POST', body, duplex: 'half' as const };
    const response = await serve.handler(new Request('http://server/feedback', init));
    expect([response.status, logger.lines]).toEqual([499, []]);
    await turns.close();
  });

  it.each([
    [429, null],
    [409, 'false'],
  ])('with status %i have the hint about retries %s', async (status, hint) => {
    const commit = (): Promise<never> =>
      Promise.reject(new ModelError('Not now.', { status, code: 'busy' }));
    const { serve, turns } = await served({ commit });
    const request = new Request('http://server/commit', { method: 'POST' });
    const response = await serve.handler(request);
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([status, hint]);
    await turns.close();
  });
});

describe('the routes of the server', () => {
  it.each([
    ['GET', '/feedback', 405, 'POST', 'Expected POST /feedback'],
    ['GET', '/commit/', 405, 'POST', 'Expected POST /commit'],
    ['POST', '/metrics', 405, 'GET', 'Expected GET /metrics'],
    ['POST', '/v1/feedback', 404, null, 'Expected POST /feedback'],
  ])('are named for %s %s', async (method, path, status, allow, words) => {
    const { serve, made, turns } = await served();
    const response = await serve.handler(new Request(`http://server${path}`, { method }));
    expect([response.status, response.headers.get('allow'), made]).toEqual([status, allow, []]);
    expect(await response.text()).toContain(words);
    await turns.close();
  });

  it('do not count as requests to the model, nor does its list', async () => {
    const { serve, ask, turns } = await served();
    await serve.handler(new Request('http://server/v1/models'));
    await serve.handler(new Request('http://server/v1/feedback', { method: 'POST' }));
    await ask();
    const metrics = await serve.handler(new Request('http://server/metrics'));
    expect(await metrics.json()).toMatchObject({ 'rollout/model_0/total_request_count': 1 });
    await turns.close();
  });
});

describe('the client', () => {
  it('gives feedback, commits and reads numbers; errors have the status and words of the server', async () => {
    const { serve, ask, turns } = await served();
    const client = createServeClient({
      baseUrl: 'http://server/v1/',
      apiKey: 'key',
      session: 'mine',
      taskId: 't',
      fetch: (input, init) => serve.handler(new Request(input, init)),
    });
    expect(client.openai()).toEqual({
      baseURL: 'http://server/v1',
      apiKey: 'key',
      defaultHeaders: { 'x-trinity-session': 'mine' },
    });
    const id = await ask();
    expect(await client.feedback({ reward: 1, msgIds: [id] })).toEqual({
      applied: [id],
      already: [],
    });
    expect(await client.commit()).toEqual({ step: 1, calls: 1, experiences: 1 });
    expect(await client.commit()).toEqual({ step: 1, calls: 0, experiences: 0 });
    expect(await client.metrics()).toMatchObject({
      explore_step_num: 1,
      'rollout/total_experience_count': 1,
    });
    await expect(client.feedback({ reward: 1, msgIds: ['unknown'] })).rejects.toMatchObject({
      status: 404,
      code: 'unknown_msg_ids',
    });
    await turns.close();
  });

  it.each([
    ['session', 'encodeURIComponent', { session: '用户-1', apiKey: 'key' }],
    ['session', 'encodeURIComponent', { session: 'a\u0001', apiKey: 'key' }],
    ['apiKey', 'TRINITY_SERVE_KEY', { apiKey: 'sk-secret\nb' }],
    ['apiKey', 'TRINITY_SERVE_KEY', { apiKey: 'sk-secret\u007f' }],
  ])('names a %s that no header can carry, with a remedy but no key', (field, remedy, options) => {
    let text = '';
    try {
      createServeClient({ baseUrl: 'http://server', ...options });
    } catch (error) {
      text = describeError(error);
    }
    expect(text).toMatch(new RegExp(`^${field} .*no HTTP header can carry.*${remedy}`));
    expect(text).not.toContain('sk-secret');
  });

  it('reports a server that does not answer', async () => {
    const client = createServeClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'key' });
    expect(await client.alive()).toBe(false);
    await expect(client.commit()).rejects.toMatchObject({ status: 503, code: 'unreachable' });
  });

  it('reports a server that needs longer than the timeout', async () => {
    const client = createServeClient({
      ...{ baseUrl: 'http://server', apiKey: 'key', timeoutMs: 1 },
      fetch: (_, init) =>
        new Promise((_resolve, reject) => {
          const { signal } = init as { readonly signal: AbortSignal };
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    await expect(client.commit()).rejects.toMatchObject({
      ...{ status: 504, code: 'timeout', retryable: true },
      message: expect.stringMatching(
        /^POST http:\/\/server\/commit had no reply within 0.001 s.*fix the address/,
      ) as string,
    });
  });

  const broken = (): ReadableStream =>
    new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
  it.each<[string, () => string | ReadableStream, number]>([
    ['a page', () => '<html>Sign in</html>', 502],
    ['other JSON', () => '{"status":"ok"}', 502],
    ['null', () => 'null', 502],
    ['a body that breaks off', broken, 503],
  ])('reports %s with status 200 as an error', async (_what, body, status) => {
    const fetch = async (): Promise<Response> => new Response(body());
    const client = createServeClient({ baseUrl: 'http://server', apiKey: 'key', fetch });
    const calls = [
      client.feedback({ reward: 1, msgIds: ['a'] }),
      client.commit(),
      client.metrics(),
    ];
    for (const result of await Promise.allSettled(calls))
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'ModelError', status } });
  });
});
