import { connect, type Socket } from 'node:net';
import { createRuntime } from '@trinity-rft/core';
import { scriptedSampler } from '@trinity-rft/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encode, modelOver } from '../../test/helpers.js';
import type { RecordingModel } from '../recording-model.js';
import { openEndpointServer, type EndpointMount, type EndpointServer } from './server.js';

const limits = { maxConnections: 40, maxHeaderBytes: 8192 };
let server: EndpointServer;
/**
 * Server with short timeouts, only for requests that never end: on a slow machine it would reject
 * other requests too.
 */
let hasty: EndpointServer;
let hastyMount: EndpointMount;
let model: RecordingModel;
let mount: EndpointMount;
let other: EndpointMount;
let dead: EndpointMount;
const sampler = scriptedSampler({ script: () => encode('ok<|im_end|>') });

beforeAll(async () => {
  server = await openEndpointServer({ runtime: createRuntime(), limits });
  hasty = await openEndpointServer({
    runtime: createRuntime(),
    limits: { ...limits, headersTimeoutMs: 200, requestTimeoutMs: 300, keepAliveMs: 400 },
  });
  model = modelOver(sampler);
  hastyMount = hasty.mount({ rollout: 'a', handler: (request) => model.answer(request) });
  mount = server.mount({ rollout: 'a', handler: (request) => model.answer(request) });
  other = server.mount({ rollout: 'b', handler: (request) => model.answer(request) });
  dead = server.mount({ rollout: 'dead', handler: (request) => model.answer(request) });
  dead.unmount();
});
afterAll(async () => {
  await server.close();
  await hasty.close();
});

const good = '{"messages":[{"role":"user","content":"hi"}]}';

interface Wire {
  /** Statuses of all answers on the connection, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Writes pieces with pauses, and reads until the server closes; `null` ends our side, `undefined`
 * destroys the connection.
 */
function wire(
  pieces: readonly (string | null | undefined)[],
  gapMs = 0,
  to = server,
): Promise<Wire> {
  return new Promise((resolve) => {
    const socket = connectTo(to);
    let text = '';
    const done = (): void =>
      resolve({
        text,
        statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)),
      });
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    socket.on('error', () => undefined).on('close', done);
    void (async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        if (piece === undefined) socket.destroy();
        else if (piece === null) socket.end();
        else socket.write(piece, 'latin1');
        if (gapMs > 0) await new Promise((wait) => setTimeout(wait, gapMs));
      }
    })();
  });
}

function connectTo({ url }: EndpointServer): Socket {
  return connect(Number(new URL(url).port), '127.0.0.1');
}

interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  readonly version?: string;
  readonly key?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly length?: number | null;
}

/** Text of a valid request, except for the given parts; the connection is closed after it. */
function http(parts: RequestParts = {}): string {
  const {
    method = 'POST',
    path = '/r/a/v1/chat/completions',
    version = 'HTTP/1.1',
    key = mount.apiKey,
    body = good,
  } = parts;
  const length = parts.length === undefined ? Buffer.byteLength(body) : parts.length;
  const lines = [
    `${method} ${path} ${version}`,
    ...(parts.headers ?? ['Host: x', 'Connection: close']),
    ...(key === '' ? [] : [`Authorization: Bearer ${key}`]),
    ...(length === null ? [] : [`Content-Length: ${length}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const close = ['Host: x', 'Connection: close'];
const one = (status: number): readonly number[] => [status];

/** Requests and the expected answers; none is recorded. */
const cases: readonly [
  name: string,
  pieces: () => readonly (string | null)[],
  statuses: readonly number[],
][] = [
  ['no key', () => [http({ key: '' })], one(401)],
  ['a wrong key', () => [http({ key: 'rk_wrong' })], one(401)],
  ['the key of another rollout than the path', () => [http({ key: other.apiKey })], one(401)],
  [
    'the key of a closed rollout',
    () => [http({ key: dead.apiKey, path: '/r/dead/v1/chat/completions' })],
    one(409),
  ],
  [
    'the key of a closed rollout at the path of an open one',
    () => [http({ key: dead.apiKey })],
    one(401),
  ],
  ['the key of the server', () => [http({ key: server.adminKey })], one(401)],
  ['a key of 6000 letters', () => [http({ key: 'k'.repeat(6000) })], one(401)],
  ['a key that is not ASCII', () => [http({ key: 'rk_\u00e9\u00ff' })], one(401)],
  [
    'two Authorization headers',
    () => [http({ headers: [...close, 'Authorization: Bearer rk_wrong'] })],
    one(401),
  ],
  [
    'a key in the address',
    () => [http({ key: '', path: `/r/a/v1/chat/completions?api_key=${mount.apiKey}` })],
    one(401),
  ],
  [
    'the numbers of the server with the key of a rollout',
    () => [http({ method: 'GET', path: '/metrics', body: '', length: null })],
    one(401),
  ],
  [
    'a path of the rollout that escapes',
    () => [http({ path: '/r/a/../b/v1/chat/completions' })],
    one(401),
  ],
  [
    'an encoded path of another rollout',
    () => [http({ path: '/r/%61/v1/chat/completions' })],
    one(401),
  ],
  [
    'headers above the limit',
    () => [http({ headers: [...close, `X-Big: ${'x'.repeat(9000)}`] })],
    one(431),
  ],
  [
    'a thousand headers',
    () => [
      http({
        headers: [...close, ...Array.from({ length: 1000 }, (_, i) => `X-${i}: ${'y'.repeat(8)}`)],
      }),
    ],
    one(431),
  ],
  ['a header without a colon', () => [http({ headers: [...close, 'nonsense'] })], one(400)],
  ['a method that does not exist', () => [http({ method: 'BREW' })], one(400)],
  ['GET where POST is served', () => [http({ method: 'GET', body: '', length: null })], one(405)],
  [
    'DELETE where POST is served',
    () => [http({ method: 'DELETE', body: '', length: null })],
    one(405),
  ],
  ['a path that is not served', () => [http({ path: '/r/a/v1/files' })], one(404)],
  ['no HTTP at all', () => ['\u0016\u0003\u0001\u0002\u0000\u0001hello\r\n\r\n'], one(400)],
  ['HTTP/2 without negotiation', () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], one(400)],
  ['a version that does not exist', () => [http({ version: 'HTTP/9.9' })], one(400)],
  ['HTTP/1.1 without a host', () => [http({ headers: ['Connection: close'] })], one(400)],
  [
    'a host that is no host',
    () => [http({ headers: ['Host: a b/@', 'Connection: close'] })],
    one(400),
  ],
  ['two lengths', () => [http({ headers: [...close, 'Content-Length: 3'] })], one(400)],
  [
    'a length and chunks',
    () => [http({ headers: [...close, 'Transfer-Encoding: chunked'] })],
    one(400),
  ],
  [
    'a length that is no number',
    () => [http({ headers: [...close, 'Content-Length: ten'], length: null })],
    one(400),
  ],
  [
    'chunks whose size is no number',
    () => [
      http({
        headers: [...close, 'Transfer-Encoding: chunked'],
        length: null,
        body: 'zz\r\nhi\r\n',
      }),
    ],
    one(400),
  ],
  ['a body that is not JSON', () => [http({ body: '{"messages":' })], one(400)],
];

/** Requests that never end, which are answered with 408. */
const endless: readonly [name: string, pieces: () => readonly string[], gapMs: number][] = [
  [
    'headers that never end',
    () => [
      `POST /r/a/v1/chat/completions HTTP/1.1\r\nHost: x\r\n`,
      ...Array.from({ length: 40 }, (_, i) => `X-${i}: y\r\n`),
    ],
    25,
  ],
  ['a connection that says nothing', () => [], 0],
  ['a body that stops', () => [http({ key: hastyMount.apiKey, length: 500 })], 0],
  [
    'a body byte by byte',
    () => [
      http({ key: hastyMount.apiKey, body: '', length: 500 }),
      ...Array.from({ length: 60 }, () => 'x'),
    ],
    20,
  ],
];

describe('the server, sent', () => {
  it.each(endless)('%s, gives up', async (_, pieces, gapMs) => {
    expect((await wire(pieces(), gapMs, hasty)).statuses).toEqual([408]);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it.each(cases)('%s, answers and records nothing', async (_, pieces, statuses) => {
    const before = sampler.calls.length;
    expect((await wire(pieces())).statuses).toEqual(statuses);
    expect(sampler.calls.length).toBe(before);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it('a body that breaks off, records nothing', async () => {
    for (const end of [null, undefined]) await wire([http({ length: 500 }), end], 5);
    await idle();
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });
});

describe('the server, asked in unusual ways', () => {
  it('answers HTTP/1.0 without a host', async () => {
    const { statuses } = await wire([http({ version: 'HTTP/1.0', headers: [] })]);
    expect(statuses).toEqual([200]);
    expect(model.extractExperiencesFromHistory()).toHaveLength(1);
  });

  it('answers pipelined requests in order, each by its own key', async () => {
    const keep = ['Host: x'];
    const requests = [
      http({ headers: keep }),
      http({ headers: keep, key: 'rk_wrong' }),
      http({ headers: keep, key: other.apiKey, path: '/r/b/v1/chat/completions' }),
      http({ headers: close, path: '/v1/none' }),
    ];
    expect((await wire([requests.join('')])).statuses).toEqual([200, 401, 200, 404]);
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
  });

  it('holds no more connections than its limit, and makes room for new ones', async () => {
    const sockets = Array.from({ length: 60 }, () =>
      connectTo(hasty)
        .resume()
        .on('error', () => undefined),
    );
    const closed = await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once('close', () => resolve(true)))),
    );
    expect(closed).toHaveLength(60);
    await expect.poll(async () => (await fetch(`${hasty.url}/health`)).status).toBe(200);
  });

  it('still serves, and has nothing in flight', async () => {
    await idle();
    expect((await wire([http()])).statuses).toEqual([200]);
    expect(model.extractExperiencesFromHistory()).toHaveLength(1);
  });
});

/** Waits until the server has nothing in flight. */
async function idle(): Promise<void> {
  for (;;) {
    const response = await fetch(`${server.url}/metrics`, {
      headers: { authorization: `Bearer ${server.adminKey}`, connection: 'close' },
    });
    if (((await response.json()) as { in_flight: number }).in_flight === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
