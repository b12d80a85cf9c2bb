/** Functions for the requests of the protocol. They send a request and wait for its result. */
import { EngineError, type Clock } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import {
  failedResult,
  paths,
  pendingAnswer,
  protobufType,
  tryAgainResult,
  type JsonRequest,
  type JsonVerb,
} from '../../protocol/index.js';
import type { ZodType } from 'zod';
import type { Answer, Connection, Request } from '../http/connection.js';
import { failedError } from '../http/errors.js';

export type CallOptions = Pick<
  Request,
  'what' | 'repeat' | 'patienceMs' | 'finalStatus' | 'timeoutMs' | 'signal' | 'before' | 'wait'
>;

export interface Calls extends Pick<Connection, 'failures'> {
  /** Sends a request whose response directly contains the result. */
  ask<V extends JsonVerb, T>(
    verb: V,
    body: JsonRequest<V>,
    schema: ZodType<T>,
    options: CallOptions,
  ): Promise<T>;
  /**
   * Submits a request that the server executes later.
   * @returns the request id, with which the result can be fetched
   */
  submit<V extends JsonVerb>(verb: V, body: JsonRequest<V>, options: CallOptions): Promise<string>;
  /**
   * Submits a forward or forward-backward pass.
   * @returns the request id, with which the result can be fetched
   */
  submitPass(body: Uint8Array, options: CallOptions): Promise<string>;
  /** Waits for the result of a submitted request, as JSON. */
  result<T>(requestId: string, schema: ZodType<T>, options: CallOptions): Promise<T>;
  /** Waits for the result of a submitted request, as protobuf bytes. */
  bytes(requestId: string, options: CallOptions): Promise<Uint8Array>;
  get<T>(path: string, schema: ZodType<T>, options: CallOptions): Promise<T>;
}

export interface CallsOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Maximum wait for the result of one request, in ms. */
  readonly resultMs: number;
}

const json = { 'content-type': 'application/json', accept: 'application/json' };
/**
 * Timeout of one poll, in ms. Servers may hold a poll open for minutes, but a shorter timeout
 * detects a dead connection sooner.
 */
const pollMs = 45_000;
/** Maximum interval between two polls, in ms, if the server responds to polls immediately. */
const longestPaceMs = 250;

export function createCalls({ connection, clock, resultMs }: CallsOptions): Calls {
  const post = async (
    path: string,
    request: Pick<Request, 'body' | 'headers'>,
    options: CallOptions,
  ) => present(await connection.send({ method: 'POST', path, ...request, ...options }), options);
  const postJson = (verb: JsonVerb, body: unknown, options: CallOptions): Promise<Answer> =>
    post(paths.root + verb, { body: JSON.stringify(body), headers: json }, options);

  const settled = async (
    requestId: string,
    accept: string,
    options: CallOptions,
  ): Promise<Answer> => {
    const until = clock.now() + resultMs;
    const body = JSON.stringify({ request_id: requestId, allow_metadata_only: true });
    // One wait for all polls, because servers may answer each of them at once.
    const wait = options.wait ?? connection.beginWait(options.what);
    const request = {
      method: 'POST',
      path: `${paths.root}retrieve_future`,
      body,
      headers: { ...json, accept },
      place: 'future',
      timeoutMs: pollMs,
      ...options,
      repeat: 'always',
      wait,
    } as const;
    try {
      for (let polls = 0; clock.now() < until; polls++) {
        const next = clock.now() + Math.min(longestPaceMs, 2 ** polls);
        const answer = await connection.send(request);
        if (answer !== undefined && !isPending(answer, options)) return answer;
        await clock.sleep(Math.max(0, next - clock.now()));
      }
    } finally {
      wait.end();
    }
    throw new EngineError(
      `The Tinker server did not ${options.what} within ${Math.round(resultMs / 60_000)} min. Look at its log; a new start of the run continues from its last checkpoint.`,
      { code: 'ENGINE_WORKER_DIED' },
    );
  };
  const requestId = (answer: Answer, options: CallOptions): string =>
    parse(answer, pendingAnswer, options).request_id;

  return {
    failures: () => connection.failures(),
    ask: async (verb, body, schema, options) =>
      parse(await postJson(verb, body, options), schema, options),
    submit: async (verb, body, options) => requestId(await postJson(verb, body, options), options),
    submitPass: async (bytes, options) => {
      const body = new Uint8Array(bytes);
      const headers = { 'content-type': protobufType, accept: 'application/json' };
      return requestId(await post(paths.forwardBackward, { body, headers }, options), options);
    },
    result: async (id, schema, options) =>
      parse(await settled(id, 'application/json', options), schema, options),
    bytes: async (id, options) => {
      const answer = await settled(id, protobufType, options);
      if (answer.contentType.startsWith(protobufType)) return answer.bytes;
      throw unreadable(
        options.what,
        `${answer.contentType || 'no content type'} instead of protobuf`,
      );
    },
    get: async (path, schema, options) =>
      parse(
        present(await connection.send({ method: 'GET', path, ...options }), options),
        schema,
        options,
      ),
  };
}

/** Returns the response. Only a poll may have no response; for other requests, this is an error. */
function present(answer: Answer | undefined, { what }: CallOptions): Answer {
  if (answer !== undefined) return answer;
  throw unreadable(what, 'nothing');
}

/** Returns true if the result is not ready. Hosted servers report this with a success status. */
function isPending(answer: Answer, { what }: CallOptions): boolean {
  if (!answer.contentType.startsWith('application/json')) return false;
  const body = jsonOf(answer, what);
  const failed = failedResult.safeParse(body);
  if (failed.success) throw failedError(what, failed.data);
  return tryAgainResult.safeParse(body).success;
}

function parse<T>(answer: Answer, schema: ZodType<T>, { what }: CallOptions): T {
  const read = schema.safeParse(jsonOf(answer, what));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw unreadable(what, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'another form'}`);
}

function jsonOf({ bytes }: Answer, what: string): unknown {
  const value = tryJson(new TextDecoder().decode(bytes));
  if (value === undefined) throw unreadable(what, 'no JSON');
  return value;
}

export const unreadable = (what: string, problem: string): EngineError =>
  new EngineError(
    `The answer of the Tinker server when asked to ${what} cannot be used: ${problem}. Compare its version with TuFT 0.2, SkyRL 0.4 or SDK 0.38.`,
    { code: 'TINKER_ANSWER' },
  );
