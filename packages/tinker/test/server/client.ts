/** A minimal client of the protocol, and a server for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core/engine';
import { fakeEngine, testRuntime } from '@trinity-rft/testing';
import {
  decodeForwardBackwardResult,
  decodeSampleResult,
  encodeForwardBackward,
  paths,
  protobufType,
  type Datum,
  type ForwardBackwardRequest,
  type ForwardBackwardResult,
  type SampleResult,
} from '../../src/protocol/index.js';
import { onTestFinished } from 'vitest';
import { openTinkerServer, type TinkerServerOptions } from '../../src/server/index.js';

export const apiKey = 'tml-0123456789abcdef';

export interface ServerUnderTest {
  readonly url: string;
  /** Engines in the order in which they were opened. */
  readonly engines: ReturnType<typeof fakeEngine>[];
  readonly directory: string;
}

/** Serves `fakeEngine`, which trains all of its weights. */
export async function startServer(
  options: Partial<TinkerServerOptions> & {
    readonly engine?: Parameters<typeof fakeEngine>[0];
  } = {},
): Promise<ServerUnderTest> {
  const directory = options.directory ?? mkdtempSync(path.join(tmpdir(), 'trinity-tinker-test-'));
  const engines: ReturnType<typeof fakeEngine>[] = [];
  const open = async (): Promise<Engine> => {
    const engine = fakeEngine({ seed: 3, ...options.engine });
    engines.push(engine);
    return engine;
  };
  const server = await openTinkerServer({
    model: { name: 'bigrams', maxModelLen: 1024, open },
    runtime: testRuntime(),
    apiKey,
    ...options,
    directory,
  });
  onTestFinished(async () => {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { url: server.url, engines, directory };
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly bytes: Uint8Array;
}

export async function post(
  url: string,
  verb: string,
  body: object | Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(url + paths.root + verb, {
    method: 'POST',
    headers: {
      'x-api-key': apiKey,
      'content-type': isBytes ? protobufType : 'application/json',
      ...headers,
    },
    body: isBytes ? new Uint8Array(body) : typeof body === 'string' ? body : JSON.stringify(body),
  });
  return readAnswer(response);
}

export const get = async (url: string, place: string): Promise<Answer> =>
  readAnswer(await fetch(url + paths.root + place, { headers: { 'x-api-key': apiKey } }));

export const remove = async (url: string, place: string): Promise<Answer> =>
  readAnswer(
    await fetch(url + paths.root + place, { method: 'DELETE', headers: { 'x-api-key': apiKey } }),
  );

async function readAnswer(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const body = isJson ? (JSON.parse(Buffer.from(bytes).toString()) as Answer['body']) : {};
  return { status: response.status, body, bytes };
}

/** Result of an accepted request. */
export async function resultOf(url: string, { status, body }: Answer): Promise<Answer> {
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  for (;;) {
    const answer = await post(url, 'retrieve_future', { request_id: body['request_id'] });
    if (answer.status !== 408) return answer;
  }
}

/** @throws Error with the server's message */
function assertDone({ body: { error } }: Answer): void {
  if (typeof error === 'string') throw new Error(error);
}

export interface Model {
  readonly session: string;
  readonly id: string;
  pass(request: Partial<ForwardBackwardRequest>): Promise<ForwardBackwardResult>;
  /**
   * Submits a request with the next sequence number and waits for its result. @throws Error with the
   * server's message
   */
  call(verb: string, body: object): Promise<Answer['body']>;
}

export async function createSession(url: string): Promise<string> {
  const { body } = await post(url, 'create_session', { tags: [], sdk_version: 'test' });
  return String(body['session_id']);
}

/** Creates a model whose weights are all trained. */
export async function createModel(url: string, session?: string, number = 0): Promise<Model> {
  const owner = session ?? (await createSession(url));
  const asked = { session_id: owner, model_seq_id: number, base_model: 'bigrams' };
  const created = await resultOf(url, await post(url, 'create_model', asked));
  return modelOf(url, owner, String(created.body['model_id']));
}

export function modelOf(url: string, session: string, id: string): Model {
  let seq = 0;
  const done = async (answer: Answer): Promise<Answer> => {
    const result = await resultOf(url, answer);
    assertDone(result);
    return result;
  };
  return {
    session,
    id,
    pass: async (request) => {
      const whole = { modelId: id, seqId: ++seq, data: [], lossFn: 'cross_entropy', ...request };
      const answer = await post(url, 'forward_backward', encodeForwardBackward(whole));
      return decodeForwardBackwardResult((await done(answer)).bytes);
    },
    call: async (verb, body) =>
      (await done(await post(url, verb, { model_id: id, seq_id: ++seq, ...body }))).body,
  };
}

/** Converts a text to a datum, with numbers for each of its targets. */
export const datum = (
  text: readonly number[],
  inputs: Readonly<Record<string, readonly number[]>> = {},
): Datum => ({
  tokens: Int32Array.from(text.slice(0, -1)),
  inputs: {
    target_tokens: Int32Array.from(text.slice(1)),
    ...Object.fromEntries(
      Object.entries(inputs).map(([name, values]) => [name, Float32Array.from(values)]),
    ),
  },
});

export async function sample(url: string, body: object): Promise<SampleResult> {
  const answer = await resultOf(url, await post(url, 'asample', body));
  assertDone(answer);
  return decodeSampleResult(answer.bytes);
}

export const prompt = (...tokens: readonly number[]): object => ({
  chunks: [{ type: 'encoded_text', tokens }],
});
