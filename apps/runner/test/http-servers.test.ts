/** Sends the same wrong input over sockets to every server of the repository. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { defineEnvironment, serveEnvironment } from '@trinity-rft/environment';
import type { HttpLimits } from '@trinity-rft/http-server';
import { createRolloutModel, errorResponseTo, openEndpointServer } from '@trinity-rft/model';
import { readBody } from '@trinity-rft/model/internal';
import { characterFormat } from '@trinity-rft/model/testing';
import { createServe, openTurnStore } from '@trinity-rft/serve';
import { openTinkerServer } from '@trinity-rft/tinker/server';
import { openStudio } from '@trinity-rft/inspect/studio';
import { openControl } from '@trinity-rft/studio';
import { fakeEngine, scriptedSampler } from '@trinity-rft/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Short timeouts in ms, for requests that never end; not used elsewhere, where a slow machine could exceed them. */
const hasty: Partial<HttpLimits> = { headersTimeoutMs: 300, requestTimeoutMs: 400 };
const key = 'key-0123456789abcdef';
const runtime = createRuntime();

interface Server {
  readonly url: string;
  /** Route that takes a JSON body and requires the key. */
  readonly route: string;
  /** Route that answers without a key. */
  readonly health: string;
  readonly close: () => Promise<void>;
}

const folders: string[] = [];
function newFolder(): string {
  folders.push(mkdtempSync(path.join(tmpdir(), 'trinity-http-')));
  return folders.at(-1) ?? '';
}

async function openRecording(limits: Partial<HttpLimits>): Promise<Server> {
  const server = await openEndpointServer({ runtime, limits });
  const model = createRolloutModel({
    sampler: scriptedSampler({ script: () => characterFormat().tokenizer.encode('ok<|im_end|>') }),
    format: characterFormat(),
    modelPath: 'tiny',
    seedFor: () => 1,
    runtime,
  });
  server.mount({ rollout: 'a', handler: (request) => model.answer(request), apiKey: key });
  const route = '/r/a/v1/chat/completions';
  return { url: server.url, route, health: '/health', close: () => server.close() };
}

async function openServe(limits: Partial<HttpLimits>): Promise<Server> {
  const turns = await openTurnStore({ path: path.join(newFolder(), 'calls.db') });
  const serve = createServe({
    turns,
    createModel: () => ({ handler: async () => Response.json({}), keptTokens: () => 0 }),
    commit: async () => ({ step: 0, calls: 0, experiences: 0 }),
    policyVersion: () => 0,
    readBody: (request) => readBody(request, { runtime }, 'a request'),
    modelErrorResponse: errorResponseTo,
    ...runtime,
  });
  const server = await openEndpointServer({ runtime, limits });
  server.mount({ handler: serve.handler, apiKey: key });
  const close = async (): Promise<void> => {
    await server.close();
    await turns.close();
  };
  return { url: server.url, route: '/feedback', health: '/health', close };
}

async function openTinker(limits: Partial<HttpLimits>): Promise<Server> {
  const open = async () => fakeEngine();
  const model = { name: 'bigrams', maxModelLen: 64, open };
  const server = await openTinkerServer({
    model,
    directory: newFolder(),
    runtime,
    apiKey: key,
    limits,
  });
  return { ...server, route: '/api/v1/retrieve_future', health: '/api/v1/healthz' };
}

async function openPages(limits: Partial<HttpLimits>): Promise<Server> {
  const parts = [openControl({ command: ['false'], cwd: newFolder() })];
  const studio = await openStudio({ runs: newFolder(), parts, key, limits });
  const { origin } = new URL(studio.url);
  return { url: origin, route: '/api/actions/builder/save', health: '/none', close: studio.close };
}

const corridor = defineEnvironment({
  name: 'corridor',
  description: 'A corridor.',
  tasks: ({ count }) => Array.from({ length: count }, (_, length) => ({ length })),
  open: async () => ({
    reset: async () => ({
      observation: 'go',
      step: async () => ({ observation: 'end', reward: 1, done: true }),
      close: async () => undefined,
    }),
    close: async () => undefined,
  }),
});

async function openEnvironment(
  limits: Partial<HttpLimits>,
  definition = corridor,
): Promise<Server> {
  const server = await serveEnvironment({ definition, apiKey: key, tasks: 5, limits });
  return { ...server, route: '/corridor/task_range', health: '/health' };
}

const servers: readonly [string, (limits: Partial<HttpLimits>) => Promise<Server>][] = [
  ['the recording endpoint', openRecording],
  ['trinity serve', openServe],
  ['trinity serve --tinker', openTinker],
  ['trinity studio', openPages],
  ['trinity env serve', openEnvironment],
];

type Piece = string | Buffer | null;

/** Statuses of all responses, and the number of bytes that the client has sent. */
interface Wire {
  readonly statuses: readonly number[];
  readonly sent: number;
}

/** Writes the pieces until the server closes. `null` ends the client's side, `'reset'` resets the connection. */
function wire(to: Server, pieces: Iterable<Piece>, gapMs = 0): Promise<Wire> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(to.url).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    socket
      .on('error', () => undefined)
      .on('close', () => {
        const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code));
        resolve({ statuses, sent: socket.bytesWritten });
      });
    const closed = new Promise((closes) => socket.once('close', closes));
    void (async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        if (piece === null) socket.end();
        else if (piece === 'reset') socket.resetAndDestroy();
        else if (!socket.write(piece))
          await Promise.race([new Promise((go) => socket.once('drain', go)), closed]);
        if (gapMs > 0) await new Promise((wait) => setTimeout(wait, gapMs));
      }
    })();
  });
}

const head = (lines: readonly string[]): string =>
  ['', 'Host: 127.0.0.1', 'Connection: close', ...lines, '', ''].join('\r\n');
const withKey = `Authorization: Bearer ${key}`;
const upgrade = [
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
];
const upgrading = (target: string, more: readonly string[] = []): string =>
  `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n${[...upgrade, ...more].join('\r\n')}\r\n\r\n`;
const posting = (
  { route }: Server,
  body: string | Buffer,
  more: readonly string[] = [],
): Piece[] => [
  `POST ${route} HTTP/1.1${head([withKey, `Content-Length: ${Buffer.byteLength(body)}`, ...more])}`,
  body,
];
const chunked = ({ route }: Server, keys: readonly string[]): string =>
  `POST ${route} HTTP/1.1${head([...keys, 'Content-Type: application/json', 'Transfer-Encoding: chunked'])}`;

/** Bytes to send and the expected status; undefined allows any status below 500, or no answer. */
const cases: readonly [string, (server: Server) => Iterable<Piece>, number?][] = [
  ['GET //', () => [`GET // HTTP/1.1${head([])}`]],
  ['GET //[', () => [`GET //[ HTTP/1.1${head([])}`]],
  ['GET http://[', () => [`GET http://[ HTTP/1.1${head([])}`], 400],
  ['GET http://', () => [`GET http:// HTTP/1.1${head([])}`], 400],
  ['GET of percent signs', () => [`GET /%%%/%zz?%=% HTTP/1.1${head([withKey])}`]],
  ['a host that is no host', () => ['GET / HTTP/1.1\r\nHost: a b/@[\r\nConnection: close\r\n\r\n']],
  ['OPTIONS *', () => [`OPTIONS * HTTP/1.1${head([])}`]],
  ['CONNECT', () => [`CONNECT [::1:80 HTTP/1.1${head([])}`]],
  ['no HTTP', () => ['\u0016\u0003\u0001\u0002\u0000\u0001hello\r\n\r\n'], 400],
  ['headers above the limit', () => [`GET / HTTP/1.1${head([`X: ${'x'.repeat(20_000)}`])}`], 431],
  ['an upgrade of //', () => [upgrading('//'), null]],
  ['an upgrade of http://[', () => [upgrading('http://['), null]],
  ['an upgrade of a wrong path and a reset', () => [upgrading('/no'), 'reset']],
  ['an upgrade without a key and a reset', () => [upgrading('/ws'), 'reset']],
  ['a body that breaks off', (to) => [posting(to, 'x'.repeat(500))[0]!, '{"a":', 'reset']],
  ['a body of JSON that is cut', (to) => posting(to, '{"a":'), 400],
  ['a body that is no UTF-8', (to) => posting(to, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), 400],
  ['a compressed body', (to) => posting(to, gzipSync('{}'), ['Content-Encoding: gzip']), 415],
  ['a body of 200 levels', (to) => posting(to, '['.repeat(200) + ']'.repeat(200)), 400],
  ['a body of 300,000 strings', (to) => posting(to, `[${'"",'.repeat(300_000)}""]`)],
  [
    'a length of a terabyte',
    (to) => [`POST ${to.route} HTTP/1.1${head([withKey, 'Content-Length: 1099511627776'])}`],
    413,
  ],
  [
    'a body of 30 MB without a length',
    (to) => [chunked(to, [withKey]), `1c9c380\r\n${' '.repeat(30_000_000)}\r\n0\r\n\r\n`],
  ],
  // A client that never stops writing may miss the response.
  ['a body without an end', (to) => endless(to, [withKey])],
  ['a body without an end and without a key', (to) => endless(to, [])],
];

function* endless(to: Server, keys: readonly string[]): Iterable<Piece> {
  yield chunked(to, keys);
  const size = 1 << 16;
  for (;;) yield `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`;
}

/** Requests that end with 408 because they are too slow. */
const slow: readonly [string, (server: Server) => readonly Piece[]][] = [
  ['nothing', () => []],
  [
    'headers that never end',
    (to) => [
      `POST ${to.route} HTTP/1.1\r\nHost: 127.0.0.1\r\n`,
      ...Array.from({ length: 60 }, (_, i) => `X-${i}: y\r\n`),
    ],
  ],
  ['a body that stops', (to) => posting(to, 'x'.repeat(500)).slice(0, 1)],
  [
    'a body byte by byte',
    (to) => [chunked(to, [withKey]), ...Array.from({ length: 60 }, () => '1\r\n \r\n')],
  ],
];

describe.each(servers)('%s', (_, open) => {
  let server: Server;
  let short: Server;
  beforeAll(async () => {
    [server, short] = await Promise.all([open({}), open(hasty)]);
  });
  afterAll(async () => {
    await Promise.all([server.close(), short.close()]);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  it.each(cases)('answers %s, and keeps serving', async (_name, pieces, status) => {
    const { statuses, sent } = await wire(server, pieces(server));
    for (const seen of statuses) expect(seen).toBeLessThan(500);
    expect(statuses).toEqual(status === undefined ? statuses : [status]);
    // Ten times the largest body limit (20 MB), and the bytes that the sockets buffer.
    expect(sent).toBeLessThan(250_000_000);
    expect((await fetch(server.url + server.health)).status).toBeLessThan(500);
  });

  it.each(slow)('gives up on %s', async (_name, pieces) => {
    const { statuses } = await wire(short, pieces(short), 15);
    expect(statuses).toEqual([408]);
  });

  it('closes while clients do nothing', async () => {
    const own = await open({});
    const done = Promise.all([wire(own, ['GET /']), wire(own, [upgrading('/ws')])]);
    await new Promise((wait) => setTimeout(wait, 50));
    await own.close();
    expect(await done).toHaveLength(2);
  });
});

const lora = { session_id: 's', base_model: 'bigrams' };
const sampling = { prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} };
/** Requests with numbers that would make a server allocate too much, and the field that the error names. */
const sizes: readonly [string, object, string, (typeof servers)[number][1]][] = [
  ['/api/v1/asample', { ...sampling, num_samples: 5e7 }, 'num_samples', openTinker],
  ['/api/v1/asample', { ...sampling, topk_sample_logprobs: 1e9 }, 'topk_sample', openTinker],
  ['/api/v1/asample', { ...sampling, topk_prompt_logprobs: 1e9 }, 'topk_prompt', openTinker],
  ['/api/v1/create_model', { ...lora, lora_config: { rank: 1e9 } }, 'rank', openTinker],
  ['/corridor/task_range', { split: 'train', start: -(2 ** 53) }, 'start', openEnvironment],
  ['/corridor/task_range', { split: 'train', start: -(2 ** 40) }, 'start', openEnvironment],
  ['/corridor/task', { split: 'train', index: -1 }, 'index', openEnvironment],
];

it.each(sizes)('%s refuses %o, naming it', async (route, body, named, open) => {
  const server = await open({});
  const response = await fetch(server.url + route, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(named)]);
  await server.close();
});

it('a task range beyond the tasks ends with them', async () => {
  const server = await openEnvironment({});
  const response = await fetch(`${server.url}/corridor/task_range`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}` },
    body: JSON.stringify({ split: 'train', start: 3, stop: 2 ** 52 }),
  });
  expect(await response.json()).toEqual({ tasks: [expect.anything(), expect.anything()] });
  await server.close();
});

/** Masked WebSocket text frame of a client, with a mask of zeros. */
function frame(text: string): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(text.length));
  return Buffer.concat([Buffer.of(0x81, 0xff), length, Buffer.alloc(4), Buffer.from(text)]);
}

const reset = '{"type":"reset","data":{"task":{}}}';
it('messages that wait for an answer end a connection, and no other', async () => {
  const resets: unknown[] = [];
  const stuck = defineEnvironment({
    name: 'stuck',
    description: 'A corridor without an end.',
    open: async () => ({
      reset: (_start, signal) =>
        new Promise((_resolve, reject) => {
          resets.push(signal);
          signal.addEventListener('abort', () => reject(new Error('closed')));
        }),
      close: async () => undefined,
    }),
  });
  const server = await openEnvironment({}, stuck);
  const hello = upgrading('/ws', [withKey]);
  const other = wire(server, [hello, frame(reset)]);
  let isOpen = true;
  void other.then(() => (isOpen = false));
  await expect.poll(() => resets.length).toBe(1);
  const { statuses } = await wire(server, [
    hello,
    ...Array.from({ length: 100 }, () => frame(reset)),
  ]);
  expect(statuses).toEqual([101]);
  expect(isOpen).toBe(true);
  expect(resets.length).toBeLessThanOrEqual(2);
  await server.close();
  await other;
});
