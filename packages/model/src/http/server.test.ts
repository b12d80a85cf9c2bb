import { createRuntime, ModelError, silentLogger } from '@trinity-rft/core';
import { manualClock, recordingLogger } from '@trinity-rft/testing';
import { ConflictError, AuthenticationError, OpenAI } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { scripted } from '../../test/helpers.js';
import { rolloutRefusals } from './refusals.js';
import {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type EndpointServerOptions,
} from './server.js';

const servers: EndpointServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function open(options: Partial<EndpointServerOptions> = {}): Promise<EndpointServer> {
  const server = await openEndpointServer({ runtime: createRuntime(), ...options });
  servers.push(server);
  return server;
}

const messages = [{ role: 'user' as const, content: 'hi' }];
const say = (client: OpenAI): Promise<OpenAI.Chat.ChatCompletion> =>
  client.chat.completions.create({ model: 'any', messages });
const overHttp = ({ baseURL, apiKey }: Pick<EndpointMount, 'baseURL' | 'apiKey'>): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const inProcess = ({ baseURL, apiKey, fetch }: EndpointMount): OpenAI =>
  new OpenAI({ baseURL, apiKey, fetch, maxRetries: 0 });
const bodyOf = async (response: Response): Promise<{ error: { message: string; code: string } }> =>
  (await response.json()) as { error: { message: string; code: string } };

describe('a mounted rollout', () => {
  it('is reached over HTTP and in the process, and records both', async () => {
    const server = await open();
    const { model } = scripted(['one<|im_end|>', 'two<|im_end|>']);
    const mount = server.mount({ rollout: 'a-1', handler: model.handler });
    expect(mount.baseURL).toBe(`${server.url}/r/a-1/v1`);
    expect(mount.apiKey).toMatch(/^rk_[\w-]{43}$/);
    expect((await say(overHttp(mount))).choices[0]!.message.content).toBe('one');
    expect((await say(inProcess(mount))).choices[0]!.message.content).toBe('two');
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
  });

  it('has the key that its owner chose, and its own numbers where it has some', async () => {
    const server = await open();
    const numbers = (): Promise<Response> => Promise.resolve(Response.json({ mine: 1 }));
    const mount = server.mount({
      handler: numbers,
      apiKey: 'chosen-by-the-owner',
      ownMetrics: true,
    });
    expect(mount.apiKey).toBe('chosen-by-the-owner');
    const response = await fetch(`${server.url}/metrics`, {
      headers: { authorization: 'Bearer chosen-by-the-owner' },
    });
    expect(await response.json()).toEqual({ mine: 1 });
    // Every path is accepted with the key, so a client need not know the rollout's id.
    expect(
      (await fetch(`${server.url}/v1/models`, { headers: { 'x-api-key': mount.apiKey } })).status,
    ).toBe(200);
    expect(() => server.mount({ handler: numbers, apiKey: 'chosen-by-the-owner' })).toThrow(
      /has the key of another one/,
    );
  });

  it('streams', async () => {
    const server = await open();
    const { model } = scripted(['one<|im_end|>']);
    const stream = overHttp(server.mount({ handler: model.handler })).chat.completions.stream({
      model: 'any',
      messages,
    });
    expect(await stream.finalContent()).toBe('one');
  });

  it('is found by its key under any prefix, by x-api-key, and by x-rollout-key beside a foreign key', async () => {
    const server = await open();
    const seen: string[] = [];
    const handler = (request: Request): Promise<Response> =>
      Promise.resolve(Response.json({ n: seen.push(new URL(request.url).pathname) }));
    const { apiKey } = server.mount({ rollout: 'a', handler });
    for (const path of ['/v1/models', '/proxy/v1/models', '/gate/r/a/v1/models']) {
      expect(
        (await fetch(server.url + path, { headers: { authorization: `bearer ${apiKey}` } })).status,
      ).toBe(200);
      expect((await fetch(server.url + path, { headers: { 'x-api-key': apiKey } })).status).toBe(
        200,
      );
      const headers = { authorization: 'Bearer EMPTY', 'x-rollout-key': apiKey };
      expect((await fetch(server.url + path, { headers })).status).toBe(200);
    }
    expect(new Set(seen)).toEqual(
      new Set(['/v1/models', '/proxy/v1/models', '/gate/r/a/v1/models']),
    );
  });

  it.each([undefined, 'rk_chosen', 'chosen', 'rk_with/slash', 'rk_$&'])(
    'has an id that looks like a key, with the key %s',
    async (apiKey) => {
      const server = await open();
      const { model } = scripted([]);
      const mount = server.mount({ rollout: 'rk_abcdefghi', handler: model.handler, apiKey });
      const headers = { authorization: `Bearer ${mount.apiKey}` };
      expect((await fetch(`${mount.baseURL}/models`, { headers })).status).toBe(200);
      const { keyedBaseURL = '' } = mount;
      expect(keyedBaseURL !== '').toBe(apiKey === undefined || apiKey === 'rk_chosen');
      const keyed =
        keyedBaseURL === '' ? mount.fetch(mount.baseURL) : fetch(`${keyedBaseURL}/models`);
      expect((await keyed).status).toBe(keyedBaseURL === '' ? 401 : 200);
    },
  );

  it('is found by the key in its address, whatever key the client sends, and names it nowhere', async () => {
    const server = await open();
    const { model } = scripted(['one<|im_end|>', 'two<|im_end|>']);
    const mount = server.mount({ rollout: 'a', handler: model.handler });
    const { apiKey, keyedBaseURL, fetch: inside } = mount;
    expect(keyedBaseURL).toBe(`${server.url}/r/a/${apiKey}/v1`);
    for (const fetch of [globalThis.fetch, inside])
      await say(new OpenAI({ baseURL: keyedBaseURL, apiKey: 'EMPTY', fetch, maxRetries: 0 }));
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
    const other = server.mount({ rollout: 'b', handler: model.handler });
    const address = keyedBaseURL ?? '';
    const refused = [
      [404, `${keyedBaseURL}/nothing`, {}],
      [401, `${keyedBaseURL}/models`, { 'x-rollout-key': other.apiKey }],
      [401, address.replace('/r/a/', '/r/b/'), {}],
      [401, `${address.replace(apiKey, 'rk_wrong')}/models`, {}],
    ] as const;
    for (const [status, url, headers] of refused) {
      const response = await fetch(url, { headers });
      expect(response.status).toBe(status);
      expect(await response.text()).not.toContain(apiKey);
    }
  });

  it('aborts the request of a client that disconnects', async () => {
    const server = await open();
    const gone = Promise.withResolvers<unknown>();
    const abort = new AbortController();
    const handler = ({ signal }: Request): Promise<Response> => {
      abort.abort();
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          gone.resolve(signal.reason);
          resolve(new Response(null, { status: 499 }));
        }),
      );
    };
    const mount = server.mount({ handler });
    const call = fetch(`${mount.baseURL}/models`, {
      headers: { authorization: `Bearer ${mount.apiKey}` },
      signal: abort.signal,
    });
    await expect(call).rejects.toThrow(/abort/);
    await gone.promise;
  });

  it('has keys of its own although runs are seeded alike', async () => {
    const keys = await Promise.all(
      [1, 2].map(
        async () =>
          (await open({ runtime: createRuntime({ seed: 1 }) })).mount({
            rollout: 'a',
            handler: scripted([]).model.handler,
          }).apiKey,
      ),
    );
    expect(new Set(keys).size).toBe(2);
  });

  it('cannot be mounted twice, under an id that is no path, or after its end', async () => {
    const server = await open();
    const { handler } = scripted([]).model;
    server.mount({ rollout: 'a', handler });
    expect(() => server.mount({ rollout: 'a', handler })).toThrow(/mounted already/);
    expect(() => server.mount({ rollout: 'a/b', handler })).toThrow(/letters, digits/);
    expect(() => server.mount({ handler, signal: AbortSignal.abort() })).toThrow(/ended before/);
  });
});

describe('a key', () => {
  const call = (
    mount: EndpointMount,
    headers: Record<string, string>,
    via = fetch,
  ): Promise<Response> =>
    via(`${mount.baseURL}/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ messages }),
    });

  it.each(['HTTP', 'the process'])(
    'is checked over %s: missing, wrong, of another rollout, two of them',
    async (way) => {
      const server = await open();
      const [a, b] = [scripted([]), scripted([])].map(({ model }) =>
        server.mount({ handler: model.handler }),
      ) as [EndpointMount, EndpointMount];
      const via = way === 'HTTP' ? fetch : a.fetch;
      const cases: [headers: Record<string, string>, message: RegExp][] = [
        [{}, /has no key.*model\.endpoint\(\)/],
        [{ authorization: 'Bearer' }, /has no key/],
        [{ authorization: `Basic ${a.apiKey}` }, /has no key/],
        [{ authorization: 'Bearer rk_wrong' }, /to no open rollout/],
        [{ authorization: `Bearer ${a.apiKey}x` }, /to no open rollout/],
        [{ authorization: `Bearer ${server.adminKey}` }, /to no open rollout/],
        [{ authorization: `Bearer ${b.apiKey}` }, /to another rollout than the path/],
        [{ authorization: `Bearer ${a.apiKey}`, 'x-api-key': b.apiKey }, /two different keys/],
        [{ authorization: `Bearer ${a.apiKey}`, 'x-rollout-key': 'rk_wrong' }, /no open rollout/],
      ];
      for (const [headers, message] of cases) {
        const response = await call(a, headers, via);
        expect(response.status).toBe(401);
        expect(response.headers.get('x-should-retry')).toBe('false');
        expect((await bodyOf(response)).error).toMatchObject({
          message: expect.stringMatching(message) as string,
          code: 'invalid_api_key',
        });
      }
      await expect(
        say(new OpenAI({ baseURL: a.baseURL, apiKey: 'rk_wrong', fetch: via })),
      ).rejects.toBeInstanceOf(AuthenticationError);
    },
  );

  it('of a closed rollout answers 409 for a while, then 401', async () => {
    const clock = manualClock();
    const server = await open({
      runtime: { clock, logger: silentLogger },
      limits: { closedForMs: 1000, closeTimeoutMs: 0 },
    });
    const over = new AbortController();
    const { model } = scripted(['x<|im_end|>']);
    const mount = server.mount({ rollout: 'a', handler: model.handler, signal: over.signal });
    over.abort();
    await expect(say(overHttp(mount))).rejects.toBeInstanceOf(ConflictError);
    await expect(say(inProcess(mount))).rejects.toThrow(/Rollout a has ended.*Await every call/);
    await clock.advance(1000);
    await expect(say(overHttp(mount))).rejects.toBeInstanceOf(AuthenticationError);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it('of a closed rollout may be retried if the owner says so', async () => {
    const closed = (): ModelError => new ModelError('Stopping.', { status: 503, code: 'stopping' });
    const server = await open({ refusals: { ...rolloutRefusals, closed } });
    const mount = server.mount({ handler: scripted([]).model.handler });
    mount.unmount();
    const response = await call(mount, { authorization: `Bearer ${mount.apiKey}` });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, null]);
  });

  it('of a rollout closed long before many others is forgotten', async () => {
    const server = await open({ limits: { maxClosed: 2 } });
    const mounts = Array.from({ length: 4 }, (_, i) =>
      server.mount({ rollout: `r${i}`, handler: scripted([]).model.handler }),
    );
    for (const mount of mounts) mount.unmount();
    const statuses = await Promise.all(
      mounts.map(
        async (mount) => (await call(mount, { authorization: `Bearer ${mount.apiKey}` })).status,
      ),
    );
    expect(statuses).toEqual([401, 401, 409, 409]);
  });
});

describe('the server', () => {
  it('says that it is there, and its numbers to who has the key', async () => {
    const server = await open();
    const mount = server.mount({ handler: scripted(['x<|im_end|>']).model.handler });
    server.mount({ handler: scripted([]).model.handler }).unmount();
    await say(overHttp(mount));
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    const response = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${server.adminKey}` },
    });
    expect(await response.json()).toEqual({
      open_rollouts: 1,
      calls: 1,
      in_flight: 0,
      errors: { 401: 1 },
    });
  });

  it('tells its owner why a reward was not stored, and the client only that', async () => {
    const logger = recordingLogger();
    const server = await openEndpointServer({
      runtime: { clock: manualClock(), logger },
      rewardKey: 'key',
      score: () => Promise.reject(new Error('/srv/run.db is read-only')),
    });
    const response = await fetch(`${server.url}/v1/rewards`, {
      method: 'POST',
      headers: { authorization: 'Bearer key' },
      body: '{"run":"3/0/1","reward":1}',
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([503, expect.stringContaining('reward_not_stored')]);
    expect(text).not.toContain('/srv');
    expect(logger.lines).toMatchObject([
      {
        level: 'error',
        message: 'The reward of run "3/0/1" was not stored: /srv/run.db is read-only',
      },
    ]);
    await server.close();
  });

  it('closes idle connections at once, and says which calls it waited for', async () => {
    const clock = manualClock();
    const logger = recordingLogger();
    const server = await openEndpointServer({ runtime: { clock, logger } });
    const idle = server.mount({ handler: () => Promise.resolve(Response.json({})) });
    await fetch(`${idle.baseURL}/models`, { headers: { 'x-api-key': idle.apiKey } });
    const begun = Promise.withResolvers<void>();
    const busy = server.mount({
      rollout: 'slow',
      handler: () => (begun.resolve(), new Promise(() => undefined)),
    });
    const call = fetch(`${busy.baseURL}/models`, { headers: { 'x-api-key': busy.apiKey } }).catch(
      (error: unknown) => error,
    );
    await begun.promise;
    const closed = server.close();
    await clock.advance(5000);
    await closed;
    expect(await call).toBeInstanceOf(TypeError);
    const line = logger.lines.find(({ level }) => level === 'warn');
    expect(line?.message).toMatch(/waited 5 s for 1 calls of 1 rollouts/);
    expect(line?.fields).toEqual({ rollouts: ['slow'] });
    expect(JSON.stringify(logger.lines)).not.toMatch(/rk_|ak_/);
    await server.close();
  });

  it('rejects calls and rollouts after it was closed', async () => {
    const server = await openEndpointServer({ runtime: createRuntime() });
    const mount = server.mount({ handler: scripted(['x<|im_end|>']).model.handler });
    await server.close();
    await expect(say(inProcess(mount))).rejects.toBeInstanceOf(ConflictError);
    await expect(say(overHttp(mount))).rejects.toThrow(/Connection error/);
    expect(() => server.mount({ handler: () => Promise.resolve(new Response()) })).toThrow(
      /endpoint is closed/,
    );
  });

  it('tells when its port is taken', async () => {
    const first = await open();
    const port = Number(new URL(first.url).port);
    await expect(openEndpointServer({ port, runtime: createRuntime() })).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1:\d+/,
    );
  });

  it('refuses an empty address, which would be every interface', async () => {
    await expect(openEndpointServer({ host: '', runtime: createRuntime() })).rejects.toThrow(
      /The address to listen on is empty/,
    );
  });

  it('leaves Request and Response of the process alone', async () => {
    const before = [globalThis.Request, globalThis.Response];
    await open();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });
});
