/**
 * Creates the fetch function of an auxiliary model. A request is aborted at the deadline or when
 * the rollout ends, and errors name the model. All clients that an agent uses call this function.
 */
import { ModelError } from '@trinity-rft/core';
import { longestTimer, tryJson } from '@trinity-rft/core/support';
import { activeContext } from '@trinity-rft/monitor/internal';
import { explainRemote, nameSuffix, remoteName } from './remote-call.js';
import type { RemoteModelOptions } from './remote-call.js';
import { sendWithSettings } from './send-settings.js';

export function boundFetch(options: RemoteModelOptions): typeof globalThis.fetch {
  const { signal: run, timeoutMs, fetch = globalThis.fetch, waits } = options;
  const name = remoteName(options);
  const settings = { ...options, home: activeContext() };
  return async (input, init) => {
    const own = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, longestTimer));
    const signals = [deadline, run, own].filter((one) => one !== undefined && one !== null);
    const signal = AbortSignal.any(signals);
    const done = waits === undefined ? () => undefined : beginWait(waits, name);
    try {
      const response = await sendWithSettings(fetch, settings, input, { ...init, signal });
      await rejectWebPage(response, options);
      return withEnd(await named(response, options), done);
    } catch (error) {
      done();
      // Clients expect the reason of their own signal.
      if (own?.aborted) throw error;
      throw explainRemote(error, { signal, deadline, options });
    }
  };
}

const openCalls = new WeakMap<Set<string>, Set<{ readonly name: string }>>();

/**
 * Adds the name of a model to `waits` while a call is open. Returns a function that ends the call:
 * it removes the name unless another call to the same model is open.
 */
function beginWait(waits: Set<string>, name: string): () => void {
  const calls = openCalls.get(waits) ?? new Set();
  openCalls.set(waits, calls);
  const call = { name };
  calls.add(call);
  waits.add(name);
  return () => {
    calls.delete(call);
    if (![...calls].some((other) => other.name === name)) waits.delete(name);
  };
}

/**
 * Checks that a response is not a web page.
 * @throws ModelError if the response is a web page of a proxy, a log-in form or another program
 */
async function rejectWebPage(response: Response, options: RemoteModelOptions): Promise<void> {
  const { status, ok, headers } = response;
  const type = headers.get('content-type') ?? '';
  if (!/\bhtml\b/i.test(type)) return;
  await response.body?.cancel();
  throw new ModelError(
    `${remoteName(options)} answered with a web page (status ${status}, ${type}) instead of JSON. Check base_url, which usually ends in /v1, and what serves it.`,
    { status: ok ? 502 : status, code: 'remote_error', retryable: ok || status >= 500 },
  );
}

interface Refused {
  readonly error?: { readonly message?: unknown } | null;
}

/**
 * Appends the name of the model to the message of an error response, because clients of agents
 * report only status and message.
 */
async function named(response: Response, options: RemoteModelOptions): Promise<Response> {
  const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '');
  if (response.ok || !isJson) return response;
  const text = await response.text();
  const body = tryJson(text) as Refused | null | undefined;
  const message = body?.error?.message;
  if (typeof message !== 'string') return new Response(text, response);
  const error = { ...body?.error, message: message + nameSuffix(options) };
  return new Response(JSON.stringify({ ...body, error }), response);
}

/**
 * Returns the response, with a body that calls `done` when it has been read, has failed or was
 * cancelled.
 */
function withEnd(response: Response, done: () => void): Response {
  if (!response.body) {
    done();
    return response;
  }
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done: isEnd, value } = await reader.read();
        if (!isEnd) return controller.enqueue(value);
        done();
        controller.close();
      } catch (error) {
        done();
        controller.error(error);
      }
    },
    cancel: (reason) => {
      done();
      return reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
