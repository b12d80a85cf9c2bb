/** Several models at one address: names, key, readiness, metrics, log, reload, shutdown. */
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeManifest } from '@trinity-rft/core/engine';
import { OpenAI } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  openModelServer,
  type LoggedRequest,
  type ModelServer,
  type ModelServerOptions,
} from '../src/server/index.js';

const practice = fileURLToPath(
  new URL('../../../apps/create/templates/practice/model', import.meta.url),
);
const apiKey = '0123456789abcdef0123';
let scratch = '';
let run = '';
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-server-'));
  run = path.join(scratch, 'run');
  await checkpoint(10);
  await writeFile(path.join(run, 'settings.json'), '{"stages":[{"stage_name":"grpo"}]}');
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

async function checkpoint(step: number): Promise<string> {
  const folder = path.join(run, 'grpo', `global_step_${step}`);
  await cp(practice, folder, { recursive: true });
  await writeManifest(folder, { step, final: false });
  return folder;
}

const opened: ModelServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close(0);
});

async function serve(options: Partial<ModelServerOptions> = {}) {
  const [events, requests]: [string[], LoggedRequest[]] = [[], []];
  const server = await openModelServer({
    models: { agent: run, plain: practice },
    apiKey,
    threads: 1,
    reloadMs: 0,
    onEvent: (line) => void events.push(line),
    onRequest: (request) => void requests.push(request),
    ...options,
  });
  opened.push(server);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
  const get = (place: string, key = apiKey): Promise<Response> =>
    fetch(server.url + place, { headers: { authorization: `Bearer ${key}` } });
  return { server, client, get, events, requests };
}

const ask = (model: string) => ({
  model,
  messages: [{ role: 'user' as const, content: '12*34' }],
  temperature: 0,
  max_tokens: 6,
});

describe('a server of models', () => {
  it('names the paths that it serves before it reads a body', async () => {
    const { server } = await serve({ models: { plain: practice }, keep: 1 });
    const statusOf = async (method: string, place: string, body?: string): Promise<string> => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const response = await fetch(server.url + place, { method, headers, body });
      const { error } = (await response.json()) as { error: { message: string; param: unknown } };
      return `${response.status} ${String(error.param)} ${error.message}`;
    };
    for (const [method, place, body] of [
      ['POST', '/feedback', '{}'],
      ['POST', '/commit'],
      ['POST', '/v1/embeddings', '{"input":"Hi"}'],
      ['GET', '/v1/nosuch'],
    ] as const)
      expect(await statusOf(method, place, body)).toContain(
        `404 null ${method} ${place} is not served. Available: POST .../v1/chat/completions,`,
      );
    expect(await statusOf('GET', '/v1/chat/completions')).toMatch(/^405 /);
    expect(await statusOf('POST', '/v1/chat/completions', '{}')).toMatch(
      /^400 model model is missing/,
    );
  });

  it('writes errors of paths under /v1/messages in the format of Anthropic', async () => {
    const { server } = await serve({ models: { plain: practice }, keep: 1 });
    const answer = async (method: string, place: string, key = apiKey, body?: string) => {
      const headers = { 'x-api-key': key };
      const response = await fetch(server.url + place, { method, headers, body });
      return [response.status, await response.json()];
    };
    const errorOf = (type: string) =>
      expect.objectContaining({ type: 'error', error: expect.objectContaining({ type }) });
    expect(await answer('GET', '/v1/messages')).toEqual([405, errorOf('invalid_request_error')]);
    expect(await answer('POST', '/v1/messages/none', apiKey, '{}')).toEqual([
      404,
      errorOf('not_found_error'),
    ]);
    expect(await answer('POST', '/v1/messages', apiKey, '{}')).toEqual([
      400,
      errorOf('invalid_request_error'),
    ]);
    expect(await answer('POST', '/v1/messages', 'wrong-key-wrong-key')).toEqual([
      401,
      errorOf('authentication_error'),
    ]);
  });

  it('answers by the name of a model, and names the others', async () => {
    const { client, get } = await serve();
    const answers = await Promise.all(
      ['agent', 'plain'].map((name) => client.chat.completions.create(ask(name))),
    );
    expect(answers.map(({ model }) => model)).toEqual(['agent', 'plain']);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(2);
    expect(answers[0]?.choices[0]?.message.content).toBe(answers[1]?.choices[0]?.message.content);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['agent', 'plain']);
    expect(await (await get('/v1/models/agent')).json()).toMatchObject({ id: 'agent', step: 10 });
    expect(await (await get('/v1/models/a%67ent')).json()).toMatchObject({ id: 'agent' });
    expect((await get('/v1/models/%ZZ')).status).toBe(404);
    await expect(client.chat.completions.create(ask('other'))).rejects.toThrow(
      '404 There is no model "other" here. The models are agent, plain.',
    );
    const response = await client.responses.create({
      model: 'plain',
      input: '12*34',
      temperature: 0,
      max_output_tokens: 6,
    });
    expect((await client.responses.retrieve(response.id)).output_text).toBe(response.output_text);
    const anthropic = await fetch(`${(await serve()).server.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ ...ask('plain') }),
    });
    expect(await anthropic.json()).toMatchObject({ type: 'message', role: 'assistant' });
  });

  it('tells its health to everybody, and everything else with its key', async () => {
    const { server, get } = await serve();
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${server.url}/ready`)).json()).toEqual({
      status: 'ready',
      models: ['agent', 'plain'],
    });
    for (const place of ['/metrics', '/v1/models', '/anything'])
      expect((await get(place, 'wrong-key-wrong-key')).status).toBe(401);
  });

  it.each([
    ['no JSON', '{', 400],
    ['no model', '{"messages":[]}', 400],
    ['a list', '[]', 400],
    ['a wrong field', JSON.stringify({ ...ask('plain'), temperature: 'warm' }), 400],
  ])('refuses a body that is %s, as OpenAI does', async (_, body, status) => {
    const { server, requests } = await serve();
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body,
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    expect(JSON.stringify(requests)).not.toContain(apiKey);
  });

  it('counts requests, tokens and times for Prometheus', async () => {
    const { client, get } = await serve();
    await client.chat.completions.create(ask('agent'));
    const stream = await client.chat.completions.create({ ...ask('agent'), stream: true });
    for await (const _ of stream) continue;
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    const value = (name: string): number =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(
      value(
        'trinity_requests_total{model="agent",route="POST /v1/chat/completions",status="200"}'.replaceAll(
          /[{}]/g,
          String.raw`\$&`,
        ),
      ),
    ).toBe(2);
    expect(value(String.raw`trinity_completion_tokens_total\{model="agent"\}`)).toBeGreaterThan(2);
    expect(value(String.raw`trinity_first_token_seconds_count\{model="agent"\}`)).toBe(2);
    expect(value(String.raw`trinity_model_step\{model="agent"\}`)).toBe(10);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    // Every line is either a comment, or a metric name with labels and a number.
    for (const line of text.trimEnd().split('\n'))
      expect(line).toMatch(
        /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\})? [-+\d.eInf]+)$/,
      );
  });

  it('logs requests without texts, unless they are asked for', async () => {
    const quiet = await serve();
    await quiet.client.chat.completions.create({ ...ask('agent'), user: 'someone' });
    const [record] = quiet.requests;
    expect(record).toMatchObject({
      model: 'agent',
      status: 200,
      route: 'POST /v1/chat/completions',
      user: 'someone',
    });
    expect(record?.completionTokens).toBeGreaterThan(0);
    expect(JSON.stringify(record)).not.toContain('12*34');
    const loud = await serve({ logTexts: true });
    const { choices } = await loud.client.chat.completions.create(ask('agent'));
    expect(JSON.stringify(loud.requests)).toContain('12*34');
    expect(loud.requests[0]?.response).toContain(choices[0]?.message.content ?? '');
  });

  it('records requests that no model answered', async () => {
    const models = { plain: practice, gone: path.join(scratch, 'none') };
    const { server, client, get, requests } = await serve({ models, keep: 1 });
    await expect(client.chat.completions.create(ask('gone'))).rejects.toMatchObject({
      status: 500,
    });
    expect(requests).toMatchObject([{ model: 'gone', status: 500, completionTokens: 0 }]);
    await expect(client.chat.completions.create(ask('other'))).rejects.toThrow('no model "other"');
    await expect(client.chat.completions.create(ask(''))).rejects.toThrow('model is missing');
    expect(requests.splice(1)).toMatchObject([
      { model: 'other', status: 404 },
      { model: '', status: 400 },
    ]);
    const stop = new AbortController();
    await server.models.use('plain', async (model, ended) => {
      const { fetch } = model;
      Object.assign(model, {
        fetch: async (request: Request) => {
          const aborted = once(request.signal, 'abort');
          stop.abort();
          await aborted;
          return fetch(request);
        },
      });
      ended();
    });
    const { signal } = stop;
    const left = client.chat.completions.create(ask('plain'), { signal });
    await expect(left).rejects.toThrow('aborted');
    await expect.poll(() => requests).toMatchObject([{}, { model: 'plain', status: 499 }]);
    const text = await (await get('/metrics')).text();
    for (const labels of ['model="gone"', 'model="plain"', 'model=""'])
      expect(text).toContain(`trinity_requests_total{${labels},route="POST /v1/chat/completions"`);
  });

  it('says why a stored response is not there', async () => {
    const models = { a: practice, b: practice };
    const { server, client } = await serve({ models, keep: 1 });
    const missing = (id: string) =>
      expect(client.responses.retrieve(id)).rejects.toThrow(
        `404 There is no /v1/responses/${id} here. Responses are stored as long as`,
      );
    await missing('resp_x');
    const request = { input: '12*34', max_output_tokens: 4 };
    const { id } = await client.responses.create({ ...request, model: 'a' });
    expect((await client.responses.retrieve(id)).id).toBe(id);
    await client.responses.create({ ...request, model: 'b' });
    await missing(id);
    // A model that is removed while it is asked stays until it has answered.
    const second = await client.responses.create({ ...request, model: 'b' });
    await server.models.use('b', async (model, ended) => {
      const { fetch } = model;
      Object.assign(model, {
        fetch: async (asked: Request) => {
          server.models.remove('b');
          return fetch(asked);
        },
      });
      ended();
    });
    expect((await client.responses.retrieve(second.id)).id).toBe(second.id);
  });

  it('answers while the log cannot be written, and says so once', async () => {
    const { client, events } = await serve({
      onRequest: () => {
        throw new Error('requests.jsonl could not be written: ENOSPC');
      },
    });
    const { choices } = await client.chat.completions.create(ask('plain'));
    let text = '';
    const stream = await client.chat.completions.create({ ...ask('plain'), stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(choices[0]?.message.content);
    expect(events.filter((line) => line.includes('ENOSPC'))).toEqual([
      'Requests are not logged: requests.jsonl could not be written: ENOSPC',
    ]);
  });

  it('takes the newest checkpoint of a run, and finishes what the old one has begun', async () => {
    const { server, client, get, events } = await serve();
    const stream = await client.chat.completions.create({
      ...ask('agent'),
      max_tokens: 100,
      stream: true,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    await checkpoint(20);
    // A load may take longer than the interval between two checks.
    await Promise.all([server.models.reload(), server.models.reload()]);
    expect(events.filter((line) => line.includes('agent: now'))).toEqual([
      expect.stringMatching(/^agent: now .*global_step_20\. Step 20, the last checkpoint/),
    ]);
    expect(await (await get('/v1/models/agent')).json()).toMatchObject({ step: 20 });
    let rest = 0;
    for (;;) {
      const { done } = await chunks.next();
      if (done === true) break;
      rest++;
    }
    expect(rest).toBeGreaterThan(0);
    expect((await client.chat.completions.create(ask('agent'))).choices).toHaveLength(1);
  });

  it('keeps a checkpoint that was evaluated, and says once that a newer one was not', async () => {
    const scored = path.join(scratch, 'scored');
    const save = async (step: number): Promise<void> => {
      const folder = path.join(scored, `global_step_${step}`);
      await cp(practice, folder, { recursive: true });
      await writeManifest(folder, { step, final: false });
    };
    await save(10);
    await writeFile(path.join(scored, 'settings.json'), '{"stages":[{}]}');
    await mkdir(path.join(scored, 'monitor'));
    const metrics = { 'eval/held_out/reward/mean@1': 0.5, 'eval/model_version': 10 };
    const line = JSON.stringify({ role: 'explorer', step: 11, metrics });
    await writeFile(path.join(scored, 'monitor/metrics.jsonl'), `${line}\n`);
    const { server, events } = await serve({ models: { scored } });
    await save(20);
    for (let i = 0; i < 2; i++) await server.models.reload();
    expect(events.slice(1)).toEqual([
      expect.stringMatching(
        /^scored: stays .*global_step_10\. Step 10, .* 1 other has no such score/,
      ),
    ]);
  });

  it('keeps the old weights where the new ones are damaged, and says so', async () => {
    const { server, client, get, events } = await serve();
    const folder = await checkpoint(30);
    await writeFile(path.join(folder, 'model.safetensors'), 'cut short');
    await server.models.reload();
    await server.models.reload();
    const said = events.filter((line) => line.includes('newer weights cannot be loaded'));
    expect(said).toEqual([expect.stringContaining('model.safetensors')]);
    expect((await client.chat.completions.create(ask('agent'))).choices).toHaveLength(1);
    expect(await (await get('/ready')).json()).toMatchObject({
      status: 'ready',
      not_reloaded: ['agent'],
    });
    await rm(folder, { recursive: true });
    await server.models.reload();
    expect(await (await get('/ready')).json()).toEqual({
      status: 'ready',
      models: ['agent', 'plain'],
    });
  });

  it('answers what is in progress before it ends, and nothing new', async () => {
    const { server, client } = await serve();
    const stream = await client.chat.completions.create({
      ...ask('plain'),
      max_tokens: 60,
      stream: true,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    const closed = server.close(10_000);
    const refused = await fetch(`${server.url}/ready`).catch(() => undefined);
    expect(refused?.status ?? 503).toBe(503);
    let last: unknown;
    for (;;) {
      const { done, value } = await chunks.next();
      if (done === true) break;
      last = value;
    }
    expect(last).toMatchObject({ choices: [{ finish_reason: expect.any(String) as string }] });
    await closed;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow('fetch failed');
  });

  it('does not open where a model is missing', async () => {
    const models = { agent: run, none: path.join(scratch, 'none') };
    await expect(serve({ models })).rejects.toThrow('There is no');
  });
});
