/**
 * HTTP client for vLLM and SGLang servers. It does not use `fetch`, which times out after five
 * minutes without a response.
 */
import { request as requestHttp, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { request as requestHttps, Agent as HttpsAgent } from 'node:https';
import { text } from 'node:stream/consumers';
import { describeError } from '@trinity-rft/core';
import type { ServerAddress } from '@trinity-rft/core/engine';
import { retryAfterMs, tryJson } from '@trinity-rft/core/support';
import { ServerFault } from './fault.js';

interface CallOptions {
  /**
   * Signal that aborts the call. The connection is then closed, which makes the server stop
   * sampling.
   */
  readonly signal: AbortSignal;
  /** Body of a POST request, which is sent as JSON. @default undefined: a GET request is sent */
  readonly body?: object;
  /**
   * True if the response depends on weights that were delivered to the server. If the server closed
   * the connection, the call then fails, because the server may have restarted without these
   * weights.
   * @default false: the call is repeated on another connection
   */
  readonly usesWeights?: boolean;
  /**
   * Called with the parsed JSON of each event if the response is a stream of server-sent events.
   * The call then resolves with undefined. If the callback throws, the call rejects with its error.
   */
  readonly onEvent?: (event: unknown) => void;
}

/**
 * Returns a signal with a timeout of 30 s, for a request that must be sent even if the caller's
 * signal was aborted, such as resuming a paused server.
 */
export const cleanUpSignal = (): AbortSignal => AbortSignal.timeout(30_000);

export type Call = (path: string, options: CallOptions) => Promise<unknown>;

/**
 * Returns a function that calls one server over keep-alive connections. The function resolves with
 * the parsed JSON of the response, or with its text if it is not JSON. It rejects with a {@link
 * ServerFault}, an error that `onEvent` throws, or the signal's reason.
 */
export function serverCalls({ url, apiKey }: ServerAddress): Call {
  const base = new URL(url);
  const isHttps = base.protocol === 'https:';
  const agent = new (isHttps ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: idleMs });
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const prefix = base.pathname.replace(/\/+$/, '');

  const once = (path: string, { signal, body, onEvent }: CallOptions): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const request = (isHttps ? requestHttps : requestHttp)(
        new URL(`${prefix}${path}`, base),
        {
          agent,
          method: payload === undefined ? 'GET' : 'POST',
          headers: { ...authorization, 'content-type': 'application/json' },
        },
        (response) => void read(response, `${url}${path}`, report).then(resolve, fail),
      );
      // An error of the callback is not a failure of the server.
      const report =
        onEvent &&
        ((event: unknown): void => {
          try {
            onEvent(event);
          } catch (error) {
            reject(error as Error);
            throw error;
          }
        });
      const onAbort = (): void => void request.destroy(signal.reason as Error);
      const fail = (error: unknown): void => {
        reject(signal.aborted ? (signal.reason as Error) : asFault(error, url));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.on('error', (error) => {
        const isClosed = request.reusedSocket && isReset(error);
        fail(isClosed ? new ServerFault('closed', describeError(error)) : error);
      });
      request.on('close', () => signal.removeEventListener('abort', onAbort));
      request.end(payload);
    });

  return async (path, options) => {
    // The server may have closed every keep-alive connection, but not a new one, so this loop ends.
    for (;;) {
      try {
        return await once(path, options);
      } catch (error) {
        const isClosed = error instanceof ServerFault && error.kind === 'closed';
        if (!isClosed || options.usesWeights) throw error;
      }
    }
  };
}

/**
 * Time after which idle connections are closed, in ms. It must be shorter than the 5 s of uvicorn,
 * the HTTP server of vLLM and SGLang.
 */
const idleMs = 4000;

const isReset = (error: Error): boolean =>
  'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

const asFault = (error: unknown, url: string): ServerFault =>
  error instanceof ServerFault ? error : new ServerFault('lost', url, { cause: error });

async function read(
  response: IncomingMessage,
  place: string,
  onEvent: CallOptions['onEvent'],
): Promise<unknown> {
  const { statusCode: status = 0, headers } = response;
  if (status === 200 && onEvent) return readEvents(response, place, onEvent);
  const body = await text(response);
  if (status >= 200 && status < 300) return parsed(body);
  const message = `${place} answered ${status}: ${messageOf(body)}`;
  const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
  throw new ServerFault(kindOf(status), message, { status, retryAfterMs: pauseMs });
}

/** Reads server-sent events until `[DONE]`. An empty line ends each event. */
async function readEvents(
  response: IncomingMessage,
  place: string,
  onEvent: (event: unknown) => void,
): Promise<void> {
  let rest = '';
  let isDone = false;
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    const events = (rest + part).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.replace(/^data: ?/, '');
      if (data === '[DONE]') isDone = true;
      else if (data.startsWith('{"error"'))
        throw new ServerFault('broken', `${place} ended a stream: ${messageOf(data)}`);
      else onEvent(parsed(data));
    }
  }
  if (!isDone) throw new ServerFault('broken', `${place} ended a stream before its end`);
}

function kindOf(status: number): ServerFault['kind'] {
  if (status === 429 || status === 503) return 'busy';
  return status >= 500 ? 'broken' : 'refused';
}

/** Parses the text as JSON, or returns it unchanged if it is not JSON, such as "Success: ...". */
function parsed(body: string): unknown {
  const value = tryJson(body);
  return value === undefined ? body : value;
}

const longestMessage = 300;

function messageOf(body: string): string {
  const answer = parsed(body) as { readonly error?: { readonly message?: unknown } } | null;
  const message = typeof answer === 'object' ? answer?.error?.message : undefined;
  return (typeof message === 'string' ? message : body).slice(0, longestMessage);
}
