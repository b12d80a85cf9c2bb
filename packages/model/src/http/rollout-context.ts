/**
 * Assigns a call to a rollout by the asynchronous context in which the call is made. Intended for
 * clients that are created outside of a rollout. Programs must opt in to this mechanism.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ModelError, WorkflowError } from '@trinity-rft/core';
import type { EndpointAddress } from '@trinity-rft/workflow/internal';
import { errorResponseTo } from '../protocols/error-response-to.js';
import { contextPath } from './rollout-table.js';

/**
 * Endpoint for agents whose clients are created once, when their module loads. Such a client uses
 * `baseURL`, `apiKey` and `fetch` of this object. For clients that read the environment and the
 * global fetch, use `env()` and `install()`. Each rollout must be wrapped in `run`.
 *
 * A call fails if its rollout cannot be determined: if it is made outside of `run`, after the
 * rollout has ended, or over a socket. One error is detected only later: if all rollouts share a
 * queue (LangChain's `maxConcurrency`), the queue may start a waiting call in the context of
 * another rollout, which then records the call. A rollout whose calls were all recorded by other
 * rollouts fails at its end. To avoid the error, pass such a queue to `bindQueue`, or create the
 * client in the rollout from `model.endpoint()`, which needs no context.
 */
export interface RolloutContext {
  /** Base URL, which ends in `/v1`. It is a placeholder that no server listens on. */
  readonly baseURL: string;
  /** Value for clients that require an API key. It grants no access. */
  readonly apiKey: string;
  /**
   * Sends a request to the current rollout, which is the one whose `run` called the code that calls
   * `fetch`. Responds with 401 `rollout_unknown` outside of `run`, and with 409 `rollout_closed`
   * after the rollout has ended.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Environment variables for clients that read them when they are created. */
  env(): { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string };
  /**
   * Replaces the global fetch with a function that handles requests to `baseURL` and to the
   * `contextURL` of servers. It passes all other requests to the original fetch.
   * @returns function that restores the original
   */
  install(): () => void;
  /**
   * Calls `work`, and sends all calls that `work` makes, directly or indirectly, to this model.
   * @throws WorkflowError `ROLLOUT_CONTEXT_LOST` if `work` made no call while other rollouts were
   * active
   */
  run<T>(model: RolloutEndpoint, work: () => T | Promise<T>): Promise<T>;
  /**
   * Changes a queue so that it executes each task in the asynchronous context in which the task was
   * added.
   * @returns the same queue
   */
  bindQueue<Q extends TaskQueue>(queue: Q): Q;
}

/** The part of a rollout's model that a `RolloutContext` needs. */
export interface RolloutEndpoint {
  endpoint(): EndpointAddress;
}

/** A queue of functions, such as p-queue. */
interface TaskQueue {
  add(task: (...args: never[]) => unknown, ...more: never[]): unknown;
}

interface Current {
  readonly address: EndpointAddress;
  ended: boolean;
  calls: number;
}

interface Shared {
  readonly current: AsyncLocalStorage<Current>;
  active: number;
  /** Number of rollouts that have started since the process started. */
  started: number;
}

/**
 * Returns the shared state. It exists once per process, even if two copies of this package are
 * installed.
 */
function shared(): Shared {
  const place = globalThis as { [key: symbol]: Shared | undefined };
  return (place[Symbol.for('trinity-rft.rollout-context')] ??= {
    current: new AsyncLocalStorage(),
    active: 0,
    started: 0,
  });
}

const baseURL = `http://rollout.invalid${contextPath}`;
const apiKey = 'rollout-context';

/** Creates a `RolloutContext`. All contexts of a process share their state. */
export function rolloutContext(): RolloutContext {
  return {
    baseURL,
    apiKey,
    fetch: contextFetch,
    env: () => ({ OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey }),
    install,
    run,
    bindQueue,
  };
}

const contextFetch: typeof globalThis.fetch = (input, init) => {
  // The context is read before anything is awaited, because an await may change the context.
  const current = shared().current.getStore();
  return send(current, input, init);
};

async function send(
  current: Current | undefined,
  ...[input, init]: Parameters<typeof globalThis.fetch>
): Promise<Response> {
  const request = new Request(input, init);
  // Clients would take a thrown error for a lost connection, and would try again.
  if (!current) return errorResponseTo(request, unknownRollout());
  if (current.ended) return errorResponseTo(request, rolloutEnded());
  current.calls++;
  const { address } = current;
  const redirected = new Request(urlAt(request.url, address.baseURL), request);
  redirected.headers.delete('x-api-key');
  redirected.headers.delete('x-rollout-key');
  redirected.headers.set('authorization', `Bearer ${address.apiKey}`);
  return address.fetch(redirected);
}

/** Replaces the part of a URL before `/v1` with the base URL of the rollout. */
function urlAt(url: string, base: string): string {
  const { pathname, search } = new URL(url);
  const at = pathname.lastIndexOf('/v1/');
  return `${base}${at < 0 ? pathname : pathname.slice(at + '/v1'.length)}${search}`;
}

function install(): () => void {
  const before = globalThis.fetch;
  const installed: typeof globalThis.fetch = (input, init) =>
    isContextual(input) ? contextFetch(input, init) : before(input, init);
  globalThis.fetch = installed;
  return () => {
    if (globalThis.fetch === installed) globalThis.fetch = before;
  };
}

/**
 * Returns true for `baseURL`, and for URLs under a server's `contextURL`, which the server rejects
 * over a socket.
 */
function isContextual(input: Parameters<typeof globalThis.fetch>[0]): boolean {
  const url = input instanceof Request ? input.url : String(input);
  return (
    url.startsWith(baseURL) ||
    (/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+\//.test(url) &&
      url.includes(`${contextPath}/`))
  );
}

async function run<T>(model: RolloutEndpoint, work: () => T | Promise<T>): Promise<T> {
  const state = shared();
  const current: Current = { address: model.endpoint(), ended: false, calls: 0 };
  const others = state.active;
  const startedBefore = ++state.started;
  state.active++;
  try {
    const result = await state.current.run(current, async () => work());
    if (current.calls === 0 && (others > 0 || state.started > startedBefore)) throw contextLost();
    return result;
  } finally {
    current.ended = true;
    state.active--;
  }
}

function bindQueue<Q extends TaskQueue>(queue: Q): Q {
  const add = queue.add.bind(queue) as TaskQueue['add'];
  queue.add = (task, ...more) => add(AsyncLocalStorage.bind(task), ...more);
  return queue;
}

function unknownRollout(): ModelError {
  return new ModelError(
    'A call was made outside of any rollout, or a queue, worker or event emitter has lost its context. Expected calls within rolloutContext().run(model, ...). Wrap the run, pass shared queues to bindQueue, or create the client from model.endpoint().',
    { status: 401, code: 'rollout_unknown' },
  );
}

function rolloutEnded(): ModelError {
  return new ModelError(
    'A call was made in the context of a rollout that has ended: it was not awaited, or a shared queue started the call of another rollout here. Expected calls within rolloutContext().run(model, ...). Await every call, and pass shared queues to bindQueue.',
    { status: 409, code: 'rollout_closed' },
  );
}

function contextLost(): WorkflowError {
  return new WorkflowError(
    'The run made no call in its own context while other runs were active: its calls may have been recorded for those runs. Expected at least one call. Pass queues that runs share to bindQueue, or create the client from model.endpoint().',
    { code: 'ROLLOUT_CONTEXT_LOST' },
  );
}
