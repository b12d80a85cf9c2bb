/**
 * A connection to an OpenEnv server. Only one request is sent at a time, because responses carry no
 * id and are matched to requests by their order. If a response arrives without a pending request,
 * the order is lost and the connection cannot be used any more.
 */
import type { EnvironmentError } from '@trinity-rft/core';
import {
  broken,
  limitsOf,
  type Patience,
  type Phase,
  shorten,
  within,
} from '../../waiting/within.js';
import { type Answer, answerSchema } from './messages.js';

/** Deadline of a request, and the phase of the episode in which it is sent. */
interface Asking extends Patience {
  readonly phase: Phase;
}

export interface Connection {
  /**
   * Returns false if the connection has failed or is closed, or if a response arrived without a
   * pending request.
   */
  isUsable(): boolean;
  /**
   * Sends a request and returns its response.
   * @throws EnvironmentError if there is no valid response in time, and CancelledError on abort.
   * After an error, the connection is not usable.
   */
  ask(
    message: { readonly type: string; readonly data?: unknown },
    patience: Asking,
  ): Promise<Answer>;
  close(): void;
}

export interface Address {
  /** URL of the server: `ws://HOST:PORT/ws`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Waiting = PromiseWithResolvers<Answer>;

/**
 * Opens a connection.
 * @throws EnvironmentError if the server cannot be reached, and CancelledError on abort
 */
export async function connect(address: Address, patience: Patience): Promise<Connection> {
  const { url, headers } = address;
  const socket = new WebSocket(url, { headers: { ...headers } });
  const connection = overSocket(socket, url);
  const opened = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve(), { once: true });
  socket.addEventListener('close', () => opened.reject(unreachable(url)), { once: true });
  try {
    await within(
      patience,
      () => unreachable(url),
      () => opened.promise,
    );
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function overSocket(socket: WebSocket, url: string): Connection {
  const early: Answer[] = [];
  let waiting: Waiting | undefined;
  let failure: EnvironmentError | undefined;
  const fail = (error: EnvironmentError): void => {
    failure ??= error;
    waiting?.reject(failure);
    waiting = undefined;
    socket.close();
  };
  const receive = (answer: Answer): void => {
    if (waiting === undefined) early.push(answer);
    else waiting.resolve(answer);
    waiting = undefined;
  };
  socket.addEventListener('message', ({ data }) => {
    try {
      receive(readAnswer(data, url));
    } catch (error) {
      fail(error as EnvironmentError);
    }
  });
  socket.addEventListener('close', ({ code }) => fail(closed(url, code)));
  // The event 'close' follows and is handled.
  socket.addEventListener('error', () => undefined);

  const ask: Connection['ask'] = async (message, patience) => {
    const [unasked] = early.splice(0);
    // A server without capacity reports that before the first request.
    if (unasked?.type === 'error') return unasked;
    if (unasked !== undefined || waiting !== undefined) fail(outOfStep(url, message.type));
    if (failure !== undefined) throw failure;
    const mine: Waiting = Promise.withResolvers();
    waiting = mine;
    socket.send(JSON.stringify(message));
    return within(
      patience,
      () => silent(url, message.type, patience),
      () => mine.promise,
    );
  };

  return {
    isUsable: () => failure === undefined && early.length === 0,
    ask: async (message, patience) => {
      try {
        return await ask(message, patience);
      } catch (error) {
        fail(closed(url, 1000));
        throw error;
      }
    },
    close: () => {
      if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"close"}');
      fail(closed(url, 1000));
    },
  };
}

/**
 * Parses a response.
 * @throws EnvironmentError if the response is not valid
 */
function readAnswer(data: unknown, url: string): Answer {
  let value: unknown;
  try {
    value = JSON.parse(String(data));
  } catch (cause) {
    throw malformed(url, String(data), cause);
  }
  const read = answerSchema.safeParse(value);
  if (read.success) return read.data;
  throw malformed(url, String(data), read.error);
}

export const unreachable = (url: string) =>
  broken(
    'ENVIRONMENT_UNREACHABLE',
    `No OpenEnv server accepts connections at ${url}. Start it, or correct environment_args.url; if it asks for a key, set environment_args.api_key.`,
  );

const closed = (url: string, code: number) =>
  broken(
    'ENVIRONMENT_CLOSED',
    `${url} closed the connection (code ${code}) within an episode. See the server's log; a proxy may close idle connections while the model generates.`,
  );

const silent = (url: string, request: string, { ms, phase }: Asking) =>
  broken(
    'ENVIRONMENT_DEADLINE',
    `${url} did not answer "${request}" within ${ms / 1000} s. See the server's log, or raise ${limitsOf(phase, 'timeout')}.`,
  );

const malformed = (url: string, text: string, cause: unknown) =>
  broken(
    'ENVIRONMENT_ANSWER',
    `${url} sent what is no message of OpenEnv: ${shorten(text)}. Is it an OpenEnv server, of a version from 0.2 on?`,
    cause,
  );

const outOfStep = (url: string, request: string) =>
  broken(
    'ENVIRONMENT_ORDER',
    `${url} sent an answer before it was asked "${request}", so answers cannot be told apart. See the server's log, and proxies in between.`,
  );

/** Creates the error for a response whose type does not match the request. */
export const wrongAnswer = (url: string, request: string, type: string) =>
  broken(
    'ENVIRONMENT_ORDER',
    `${url} answered "${request}" with "${type}": answers are out of order. See the server's log, and proxies in between.`,
  );
