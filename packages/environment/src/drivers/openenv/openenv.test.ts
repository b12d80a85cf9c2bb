/** Tests the client with our own server, and with servers that violate the protocol. */
import { type RolloutModel, silentLogger, systemClock, EnvironmentError } from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import { WebSocket, WebSocketServer } from 'ws';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EnvironmentDefinition } from '../../seam/define.js';
import type { Action, Environment, Episode } from '../../seam/types.js';
import { beginEpisode } from '../../play/guarded-episode.js';
import { playEpisode } from '../../play/play-episode.js';
import { nativeEnvironment } from '../../native/native-environment.js';
import { checkEnvironment } from '../../contract/check-environment.js';
import { serveEnvironment } from '../openenv-server/serve.js';
import { box, corridor, graded, quiz, script } from './corridor.fixture.js';
import { openenv } from './openenv.js';

const { signal } = new AbortController();
const context = { logger: silentLogger, signal };
const text = (action: string): Action => ({ type: 'text', text: action });
const call = (name: string, args: Record<string, unknown> = {}): Action => ({
  type: 'tool',
  name,
  arguments: args,
});
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function served(definition: EnvironmentDefinition, limit?: number): Promise<string> {
  const server = await serveEnvironment({ definition, maxConcurrentEnvs: limit });
  closing.push(() => server.close());
  return server.url;
}

async function client(url: string, args: Record<string, unknown> = {}): Promise<Environment> {
  const environment = await openenv.open({ url, start_timeout: 20, timeout: 20, ...args }, context);
  closing.push(() => environment.close());
  return environment;
}

const begin = (environment: Environment, row = {}, seed = 1): Promise<Episode> =>
  environment.reset({ row, seed }, signal);

/** Plays two turns. */
async function play(environment: Environment, reward: 'sum' | 'last' | 'max') {
  const guard = { name: 'x', timeoutMs: 20_000, clock: systemClock, ...context };
  const episode = await beginEpisode(environment, { row: {}, seed: 1 }, guard);
  const response = { responseText: 'go', toolCalls: [], finishReason: 'stop' };
  const model = { chat: async () => [response], extractExperiencesFromHistory: () => [] };
  try {
    const options = { maxTurns: 2, reward, chat: {} };
    return await playEpisode(model as unknown as RolloutModel, episode, options);
  } finally {
    await episode.close();
  }
}

describe('against our own server', () => {
  it('plays texts: the task of an index, refused steps, the reward, and the next episode', async () => {
    const environment = await client(await served(corridor));
    const episode = await begin(environment, { split: 'train', index: 1 });
    expect(episode.observation).toBe('2 steps to the goal');
    expect(episode.instructions).toBe('Write right or left.');
    expect(await episode.step(text('jump'), signal)).toMatchObject({ refused: true, done: false });
    expect(await episode.step(text('right'), signal)).toMatchObject({ reward: 0, done: false });
    expect(await episode.step(text('right'), signal)).toMatchObject({ reward: 1, done: true });
    await episode.close();
    const next = await begin(environment, { split: 'eval', index: 2 });
    expect(next.observation).toBe('3 steps to the goal');
    expect(await next.grade?.(signal)).toBeUndefined();
  });

  it('plays tools: their schemas, a name that does not exist, and the reward', async () => {
    const environment = await client(await served(box));
    const episode = await begin(environment, { split: 'train', index: 7 });
    expect(episode.tools?.map((tool) => tool.function.name)).toEqual(['look', 'say']);
    expect(await episode.step(call('look'), signal)).toMatchObject({ observation: 'It holds 7.' });
    expect(await episode.step(call('nope'), signal)).toMatchObject({ refused: true, done: false });
    expect(await episode.step(text('7'), signal)).toMatchObject({ refused: true, done: false });
    expect(await episode.step(call('say', { number: 7 }), signal)).toMatchObject({
      reward: 1,
      done: true,
    });
  });

  it.each([
    ['with tasks', quiz],
    ['without tasks', { ...quiz, tasks: undefined }],
  ])('ends an episode of tools with a text: an environment %s', async (_, definition) => {
    const environment = await client(await served(definition));
    const row = { reset: { task: {} } };
    const episode = await begin(environment, row);
    expect(episode.tools?.map((tool) => tool.function.name)).toEqual(['look']);
    expect(await episode.step(call('look'), signal)).toMatchObject({ observation: '42' });
    const end = { observation: 'Thanks.', reward: 1, done: true };
    expect(await episode.step(text('42'), signal)).toMatchObject(end);
  });

  it('plays texts of an environment without tasks, which has no tools', async () => {
    const environment = await client(await served({ ...corridor, tasks: undefined }));
    const episode = await begin(environment, { reset: { task: { length: 1 } } });
    expect(episode.tools).toBeUndefined();
    expect(await episode.step(text('right'), signal)).toMatchObject({ reward: 1, done: true });
  });

  it.each([
    ['no reward', {}, 1, { reward: 0.25, done: true }],
    ['rewards before the end', {}, 2, { reward: undefined, done: true }],
    ['a reward at the end', { reward: 1 }, 1, { reward: 1, done: true }],
    ['a limit', { truncated: true }, 2, { reward: 0.25, done: true, truncated: true }],
    ['a limit and a reward', { reward: 1, truncated: true }, 1, { reward: 1.25, done: true }],
  ])('grades an episode that ends with %s', async (_, end, steps, expected) => {
    const episode = await begin(await client(await served(graded(end, steps))), { index: 0 });
    for (let step = 1; step < steps; step++) await episode.step(text('go'), signal);
    expect(await episode.step(text('go'), signal)).toMatchObject(expected);
  });

  it.each(['sum', 'last', 'max'] as const)(
    'plays as without a server: the rule %s over rewards, negative ones, and a limit',
    async (reward) => {
      const next = (value?: number) => ({ observation: '', reward: value, done: false });
      const end = (value?: number) => ({ ...next(value), done: true, truncated: true });
      const cases = [
        [next(0.2), next(0.7)],
        [next(-1), next(-0.5)],
        [next(0.2), end(0.7)],
        [next(), end()],
      ];
      for (const results of cases) {
        const definition = script(results);
        const local = await definition.open({}, context);
        const remote = await client(await served(definition));
        const [expected, given] = [await play(local, reward), await play(remote, reward)];
        expect(given).toMatchObject({ reward: expected.reward, end: expected.end });
      }
    },
  );

  it('fails where grading does, and ends the episode', async () => {
    const grade = () => {
      throw new Error('no grader');
    };
    const episode = await begin(await client(await served(graded({}, 1, grade))), { index: 0 });
    await expect(episode.step(text('go'), signal)).rejects.toThrow(/no grader/);
    await expect(episode.step(text('go'), signal)).rejects.toThrow(/no episode/);
  });

  it.each([corridor, box])('keeps the contract of environments: $name', async (definition) => {
    const args = { url: await served(definition) };
    const rows = [0, 1, 2].map((index) => ({ split: 'train', index }));
    const results = await checkEnvironment(openenv, { args, rows });
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });

  it('plays generated tasks of an evaluation in the split that the server lists for it', async () => {
    const url = await served({
      ...corridor,
      open: async () =>
        nativeEnvironment(({ row }) => ({
          observation: String(row['split']),
          step: () => ({ observation: '', reward: 1, done: true }),
        })),
    });
    const environment = await client(url);
    for (const split of ['train', 'eval'] as const)
      for (const row of openenv.tasks?.({ split, count: 5, seed: 1 }, { url }) ?? [])
        expect((await begin(environment, row)).observation).toBe(split);
  });

  it('does not count the wait for the answer to a reset as a wait for a place', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [asked, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: EnvironmentDefinition = {
      ...corridor,
      tasks: undefined,
      open: async (args, opened) => {
        const environment = await corridor.open(args, opened);
        const reset: Environment['reset'] = async (start, within) => {
          asked.resolve();
          await ready.promise;
          return environment.reset(start, within);
        };
        return { ...environment, reset };
      },
    };
    const environment = await client(await served(slow), { start_timeout: 20, timeout: 50 });
    const episode = begin(environment, { reset: { task: { length: 2 } } });
    await asked.promise;
    await vi.advanceTimersByTimeAsync(30_000);
    ready.resolve();
    expect((await episode).observation).toBe('2 steps to the goal');
  });

  it('opens many episodes at once, and waits where the server has no more places', async () => {
    const environment = await client(await served(corridor, 2), { max_connections: 4 });
    const play = async (index: number): Promise<number> => {
      const episode = await begin(environment, { split: 'train', index });
      let reward = 0;
      for (let done = false; !done;) {
        const result = await episode.step(text('right'), signal);
        reward += result.reward ?? 0;
        done = result.done;
      }
      await episode.close();
      return reward;
    };
    const rewards = await Promise.all(Array.from({ length: 8 }, (_, index) => play(index)));
    expect(rewards).toEqual(Array(8).fill(1));
  });

  it('fails where there is no place until the deadline, and where nobody listens', async () => {
    const url = await served(corridor, 1);
    const first = await client(url);
    await begin(first, { index: 0 });
    const second = await client(url, { start_timeout: 5 });
    await expect(begin(second, { index: 0 })).rejects.toMatchObject({
      code: 'ENVIRONMENT_CAPACITY',
    });
    const gone = client('http://127.0.0.1:9');
    await expect(gone).rejects.toMatchObject({ code: 'ENVIRONMENT_UNREACHABLE' });
  });

  it('fails in mid-episode when the server stops', async () => {
    const server = await serveEnvironment({ definition: corridor });
    const episode = await begin(await client(server.url), { index: 2 });
    await server.close();
    const step = episode.step(text('right'), signal);
    await expect(step).rejects.toMatchObject({ code: 'ENVIRONMENT_CLOSED' });
  });

  it('ends an episode that does not answer in time', async () => {
    const silent: EnvironmentDefinition = {
      ...corridor,
      open: async (args, opened) => {
        const environment = await corridor.open(args, opened);
        const reset: Environment['reset'] = async (start, within) => ({
          ...(await environment.reset(start, within)),
          step: () => new Promise(() => undefined),
        });
        return { ...environment, reset };
      },
    };
    const server = await serveEnvironment({ definition: silent, timeoutMs: 50 });
    closing.push(() => server.close());
    const episode = await begin(await client(server.url), { index: 2 });
    await expect(episode.step(text('right'), signal)).rejects.toThrow(
      /step 1 .* within 0.05 s \(timeoutMs of the server\)/,
    );
    await expect(episode.step(text('right'), signal)).rejects.toThrow(/no episode/);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('stuck')), /stuck/],
    ['does not return', () => new Promise<void>(() => undefined), /close.* within 0.05 s/],
  ])('continues after an episode whose close %s', async (_, close, message) => {
    const definition: EnvironmentDefinition = {
      ...corridor,
      tasks: undefined,
      open: async (args, opened) => {
        const environment = await corridor.open(args, opened);
        const reset: Environment['reset'] = async (start, within) => ({
          ...(await environment.reset(start, within)),
          close,
        });
        return { ...environment, reset };
      },
    };
    const warnings: string[] = [];
    const warn = (line: string): void => void warnings.push(line);
    const logger = { ...silentLogger, warn };
    const server = await serveEnvironment({ definition, timeoutMs: 50, logger });
    closing.push(() => server.close());
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
    await once(socket, 'open');
    const replies: string[] = [];
    for (let reset = 0; reset < 2; reset++) {
      socket.send(JSON.stringify({ type: 'reset', data: { task: { length: 2 } } }));
      replies.push(String((await once(socket, 'message'))[0]));
    }
    socket.terminate();
    expect(replies[0]).toContain('2 steps to the goal');
    expect(replies[1]).toContain('2 steps to the goal');
    expect(warnings[0]).toMatch(message);
  });

  it('asks for a key where others can reach the server, and refuses without it', async () => {
    await expect(serveEnvironment({ definition: corridor, host: '0.0.0.0' })).rejects.toThrow(
      /key/,
    );
    const server = await serveEnvironment({
      definition: corridor,
      apiKey: 'open sesame'.repeat(2).replaceAll(' ', ''),
    });
    closing.push(() => server.close());
    await expect(client(server.url)).rejects.toThrow(/status 401.*api_key/);
    const episode = await begin(await client(server.url, { api_key: 'opensesameopensesame' }), {
      index: 0,
    });
    expect(episode.observation).toBe('1 steps to the goal');
  });

  it('makes its headers known as secrets', async () => {
    const url = await served(corridor);
    await client(url, { api_key: 'numbat-key-4711', headers: { 'x-q': 'numbat-header-4711' } });
    expect(redactText('numbat-key-4711 numbat-header-4711')).toBe('[redacted] [redacted]');
  });

  it('answers the task routes', async () => {
    const url = await served(corridor);
    const get = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
    const post = async (path: string, body: unknown): Promise<unknown> =>
      (await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })).json();
    expect(await get('/health')).toEqual({ status: 'healthy' });
    expect(await get('/list_environments')).toEqual(['corridor']);
    expect(await get('/corridor/splits')).toEqual([
      { name: 'train', type: 'train' },
      { name: 'eval', type: 'test' },
    ]);
    expect(await post('/corridor/num_tasks', { split: 'train' })).toEqual({ num_tasks: 1000 });
    for (const verb of ['num_tasks', 'task_range'])
      expect(await post(`/corridor/${verb}`, { split: 'dev', stop: 0 })).toEqual({
        detail: 'corridor has no split "dev", only train and eval.',
      });
    expect(await post('/corridor/task', { split: 'eval', index: 4 })).toEqual({
      task: { length: 2, split: 'eval' },
    });
    expect(await post('/corridor/task_range', { split: 'train', start: 998 })).toMatchObject({
      tasks: [{}, {}],
    });
    expect(await post('/corridor/task', { split: 'train', index: 1000 })).toMatchObject({
      detail: /no index 1000/,
    });
  });
});

/** A server that answers reset, step and state with the given texts; undefined for no answer. */
async function scripted(
  answers: Readonly<Record<string, (socket: WebSocket, data: unknown) => string | undefined>>,
  field = 'message',
  lists?: RequestListener,
): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url !== '/schema' && lists !== undefined) return lists(request, response);
    response.end(JSON.stringify({ action: { properties: { [field]: { type: 'string' } } } }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const { type, data: sent } = JSON.parse(data.toString()) as {
        readonly type: string;
        readonly data?: unknown;
      };
      const answer = answers[type]?.(socket, sent);
      if (answer !== undefined) socket.send(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const seen = (observation: object, reward: number | null, done: boolean): string =>
  JSON.stringify({ type: 'observation', data: { observation, reward, done } });
const first = (): string => seen({ prompt: 'Guess.' }, null, false);
const state = (): string => '{"type":"state","data":{"step_count":1}}';

describe('generated rows', () => {
  const rowOf = (split: 'train' | 'eval') =>
    openenv.tasks?.({ split, count: 1, seed: 1 }, { url: 'http://x' })[0] as {
      readonly reset: { readonly seed: number };
    };
  const lists: Readonly<Record<string, unknown>> = {
    'GET /list_environments': ['sums'],
    'GET /sums/splits': ['train', 'test'].map((name) => ({ name, type: name })),
    'POST /sums/num_tasks': { num_tasks: 7 },
  };
  /** Starts a server whose resets and lists are recorded. */
  async function listing(answer: RequestListener) {
    const [resets, asked]: [unknown[], string[]] = [[], []];
    const reset = (_: WebSocket, data: unknown): string => (resets.push(data), first());
    const url = await scripted({ reset, state }, 'message', (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      answer(request, response);
    });
    return { url, resets, asked };
  }
  const fromLists: RequestListener = ({ method, url }, response) =>
    void response.end(JSON.stringify(lists[`${method} ${url}`]));

  it('have a mark only for evaluations', () => {
    expect(Object.keys(rowOf('train'))).toEqual(['reset']);
    const rows = openenv.tasks?.({ split: 'eval', count: 2, seed: 1 }, { url: 'http://x' });
    expect(rows).toMatchObject(
      [0, 1].map((index) => ({ generated_for: 'eval', generated_index: index })),
    );
  });

  it('send split and index of an evaluation together, and ask for the lists once', async () => {
    const { url, resets, asked } = await listing(fromLists);
    const environment = await client(url);
    const [train, evaluation] = [rowOf('train'), rowOf('eval')];
    await begin(environment, train);
    expect(asked).toEqual([]);
    await Promise.all([begin(environment, evaluation), begin(environment, evaluation)]);
    expect(asked).toEqual(Object.keys(lists));
    const { seed } = evaluation.reset;
    const listed = { seed, split: 'test', index: 0 };
    expect(resets).toEqual([train.reset, listed, listed]);
  });

  it('play each listed task once before the first one again', async () => {
    const { url, resets } = await listing(fromLists);
    const environment = await client(url);
    const rows = openenv.tasks?.({ split: 'eval', count: 9, seed: 1 }, { url }) ?? [];
    for (const row of rows) await begin(environment, row);
    expect(resets.map((reset) => (reset as { readonly index: number }).index)).toEqual([
      ...[0, 1, 2, 3, 4, 5, 6, 0, 1],
    ]);
  });

  it.each<[string, RequestListener]>([
    ['does not know them', (_, response) => void response.writeHead(404).end('not JSON')],
    ['answers with a page', (_, response) => void response.end('<html>')],
    [
      'has no number of tasks',
      (request, response) =>
        request.method === 'POST'
          ? void response.writeHead(501).end('{"detail":"not supported"}')
          : fromLists(request, response),
    ],
  ])('send neither to a server that %s', async (_, answer) => {
    const { url, resets } = await listing(answer);
    await begin(await client(url), rowOf('eval'));
    expect(resets).toEqual([rowOf('eval').reset]);
  });

  it.each<[string, string, RequestListener]>([
    ['closes the connection', 'ENVIRONMENT_UNREACHABLE', ({ socket }) => void socket.destroy()],
    [
      'is overloaded',
      'ENVIRONMENT_SERVER',
      ({ method }, response) =>
        method === 'POST'
          ? void response.writeHead(503).end('later')
          : void response.writeHead(429).end('[]'),
    ],
  ])('fail at a server that %s, and ask it again', async (_, code, broken) => {
    let answer = broken;
    const { url, resets } = await listing((request, response) => answer(request, response));
    const environment = await client(url);
    await expect(begin(environment, rowOf('eval'))).rejects.toMatchObject({
      code,
      message: expect.stringContaining('/list_environments') as string,
    });
    answer = (request, response) =>
      request.method === 'POST' ? broken(request, response) : fromLists(request, response);
    await expect(begin(environment, rowOf('eval'))).rejects.toMatchObject({
      code,
      message: expect.stringContaining('/sums/num_tasks') as string,
    });
    expect(resets).toEqual([]);
    answer = fromLists;
    await begin(environment, rowOf('eval'));
    expect(resets).toMatchObject([{ split: 'test', index: 0 }]);
  });

  it('wait 30 s for the lists, unless the run ends', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const called = Promise.withResolvers<void>();
    const { url, resets } = await listing(() => called.resolve());
    const environment = await client(url);
    const run = new AbortController();
    const ended = environment.reset({ row: rowOf('eval'), seed: 1 }, run.signal);
    const episode = begin(environment, rowOf('eval'));
    const late = episode.catch((error: unknown) => error);
    await called.promise;
    run.abort();
    await expect(ended).rejects.toMatchObject({ reason: 'aborted' });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await late).toMatchObject({ code: 'ENVIRONMENT_DEADLINE' });
    expect(resets).toEqual([]);
  });

  it('send neither where the user chose a split, or to which a data set gave a column', async () => {
    const { url, resets, asked } = await listing(fromLists);
    await begin(await client(url, { reset: { split: 'dev' } }), rowOf('eval'));
    const environment = await client(url);
    for (const column of [{ generated: true }, { generated: 'eval' }, { generated_for: null }])
      await begin(environment, { ...column, reset: { seed: 7 } });
    expect(resets).toEqual([
      { ...rowOf('eval').reset, split: 'dev' },
      ...[1, 2, 3].map(() => ({ seed: 7 })),
    ]);
    expect(asked).toEqual([]);
  });
});

describe('against a broken server', () => {
  const cases: Readonly<Record<string, [string, (socket: WebSocket) => string | undefined]>> = {
    'ends without a verdict': [
      'ENVIRONMENT_NO_VERDICT',
      () => seen({ error: 'grader died' }, null, true),
    ],
    'fails while it acts': [
      'ENVIRONMENT_SERVER',
      () => '{"type":"error","data":{"message":"boom","code":"EXECUTION_ERROR"}}',
    ],
    'names a field that is missing': [
      'ENVIRONMENT_SERVER',
      () =>
        '{"type":"error","data":{"message":"Invalid message","code":"VALIDATION_ERROR","errors":[{"type":"missing","loc":["word"],"msg":"Field required"}]}}',
    ],
    'sends half a message': ['ENVIRONMENT_ANSWER', () => first().slice(0, 20)],
    'answers with a state': ['ENVIRONMENT_ORDER', state],
    'closes the connection': ['ENVIRONMENT_CLOSED', (socket) => (socket.close(), undefined)],
    'never answers': ['ENVIRONMENT_DEADLINE', () => undefined],
    'pays what is no number': [
      'ENVIRONMENT_ANSWER',
      () => seen({}, null, true).replace('null', '"1"'),
    ],
    'sends an answer twice': [
      'ENVIRONMENT_ORDER',
      (socket) => (socket.send(seen({}, 1, true)), seen({}, 1, true)),
    ],
  };
  it.each(Object.keys(cases))('one that %s breaks the episode, not the reward', async (name) => {
    const [code, step] = cases[name] ?? [];
    const url = await scripted({ reset: first, step: step ?? first, state });
    const episode = await begin(await client(url, { timeout: name === 'never answers' ? 2 : 20 }));
    const error: unknown = await episode.step(text('5'), signal).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toContain('://127.0.0.1');
  });

  it('names the limits of the step after a late state, and of the start after a late list of tools', async () => {
    const short = { timeout: 2 };
    const late = await scripted({ reset: first, step: () => seen({}, 1, true) });
    const episode = await begin(await client(late, short));
    await expect(episode.step(text('5'), signal)).rejects.toThrow(
      /"state" .*environment_args\.timeout and workflow_args\.environment_timeout/,
    );
    const noList = await client(await scripted({ reset: first }, 'tool_name'), short);
    await expect(begin(noList)).rejects.toThrow(
      /"step" .*environment_args\.timeout and workflow_args\.environment_start_timeout/,
    );
  });

  it('tells the policy which value was not valid', async () => {
    const errors = [{ type: 'int_parsing', loc: ['message'], msg: 'not an integer' }];
    const data = { message: 'Invalid message', code: 'VALIDATION_ERROR', errors };
    const step = (): string => JSON.stringify({ type: 'error', data });
    const episode = await begin(await client(await scripted({ reset: first, step, state })));
    const result = await episode.step(text('five'), signal);
    expect(result).toMatchObject({ refused: true, observation: /message: not an integer/ });
  });

  it('finds out that equal starts differ', async () => {
    let resets = 0;
    const reset = (): string => seen({ prompt: `Guess ${resets++}.` }, null, false);
    const url = await scripted({ reset, state });
    const environment = await client(url);
    await begin(environment);
    await begin(environment, {}, 2);
    await expect(begin(environment)).rejects.toMatchObject({ code: 'ENVIRONMENT_START' });
    const trusting = await client(url, { check_starts: false });
    await begin(trusting);
    expect((await begin(trusting)).observation).toMatch(/Guess/);
  });

  it('ends when its run does', async () => {
    const run = new AbortController();
    const episode = await begin(await client(await scripted({ reset: first, state })));
    const step = episode.step(text('5'), run.signal);
    run.abort();
    await expect(step).rejects.toMatchObject({ reason: 'aborted' });
  });
});
