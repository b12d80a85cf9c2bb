/**
 * Opt-in: which rollout a client that was made outside of all of them talks to, by the asynchronous
 * context of the call.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ModelError, WorkflowError } from '@trinity-rft/core';
import type { EndpointAddress } from '@trinity-rft/workflow';
import { contextPath } from './rollout-routes.js';

/**
 * For agents whose clients are made once, when their module loads. Such a client gets `baseURL`,
 * `apiKey` and `fetch` from here (`env()` and `install()` for those that read the environment and
 * the global fetch); each run is wrapped in `run`.
 *
 * It fails loudly where it cannot know: outside of `run`, after the run has ended, and over a
 * socket. What it cannot see: a queue that all runs share and that starts a waiting call from
 * within another run (LangChain's `maxConcurrency`). Such a call belongs to the run that happened
 * to free the place. Hand the queue to `bindQueue`, or make the client in the run from
 * `model.endpoint()`, which is always exact. A run that lost all its calls to others is found at
 * its end.
 */
export interface RolloutContext {
  /** Ends in `/v1`. No socket listens there. */
  readonly baseURL: string;
  /** Stands where clients want a key; opens nothing. */
  readonly apiKey: string;
  /**
   * Finds the rollout when it is called.
   * @throws ModelError 401 `rollout_unknown`, 409 `rollout_closed`
   */
  readonly fetch: typeof globalThis.fetch;
  /** For clients that read the environment when they are made. */
  env(): { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string };
  /**
   * Puts a fetch in place of the global one that takes requests to `baseURL` and passes all others
   * on. Returns what undoes it.
   */
  install(): () => void;
  /**
   * Calls made within `work`, and within whatever it starts, go to this model. @throws
   * WorkflowError `ROLLOUT_CONTEXT_LOST` when there was none although other runs made calls
   * meanwhile
   */
  run<T>(model: RolloutEndpoint, work: () => T | Promise<T>): Promise<T>;
  /**
   * Makes a queue start what is added in the context of whoever added it. Returns the same queue.
   */
  bindQueue<Q extends TaskQueue>(queue: Q): Q;
}

/** A run's model, as far as it matters here. */
export interface RolloutEndpoint {
  endpoint(): EndpointAddress;
}

/** A queue of functions, as of p-queue. */
interface TaskQueue {
  add(task: (...args: never[]) => unknown, ...more: never[]): unknown;
}

interface Current {
  readonly address: EndpointAddress;
  over: boolean;
  calls: number;
}

interface Shared {
  readonly current: AsyncLocalStorage<Current>;
  active: number;
  begun: number;
}

/** One per process, also when two copies of this package are installed. */
function shared(): Shared {
  const place = globalThis as { [key: symbol]: Shared | undefined };
  return (place[Symbol.for('trinity-rft.rollout-context')] ??= {
    current: new AsyncLocalStorage(),
    active: 0,
    begun: 0,
  });
}

const baseURL = `http://rollout.invalid${contextPath}`;
const apiKey = 'rollout-context';

/** Every call returns the same context. */
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
  // Before anything is awaited: afterwards the context may be another.
  const current = shared().current.getStore();
  return send(current, input, init);
};

async function send(
  current: Current | undefined,
  ...[input, init]: Parameters<typeof globalThis.fetch>
): Promise<Response> {
  if (!current) throw unknownRollout();
  if (current.over) throw rolloutOver();
  current.calls++;
  const { address } = current;
  const request = new Request(input, init);
  const moved = new Request(movedTo(request.url, address.baseURL), request);
  moved.headers.delete('x-api-key');
  moved.headers.set('authorization', `Bearer ${address.apiKey}`);
  return address.fetch(moved);
}

/** What follows `/v1`, after the base of the rollout. */
function movedTo(url: string, base: string): string {
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

/** Addresses at a server's `contextURL` count too: over a socket they could only be refused. */
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
  const current: Current = { address: model.endpoint(), over: false, calls: 0 };
  const others = state.active;
  const begunBefore = ++state.begun;
  state.active++;
  try {
    const result = await state.current.run(current, async () => work());
    if (current.calls === 0 && (others > 0 || state.begun > begunBefore)) throw contextLost();
    return result;
  } finally {
    current.over = true;
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
    'A call was made outside of every rollout, or in a context that a queue, worker or event emitter has lost. Expected it within rolloutContext().run(model, ...). Wrap the run, hand shared queues to bindQueue, or make the client from model.endpoint().',
    { status: 401, code: 'rollout_unknown' },
  );
}

function rolloutOver(): ModelError {
  return new ModelError(
    'A call was made in the context of a rollout that has ended: it was not awaited, or a queue that rollouts share started the call of another one here. Expected calls within rolloutContext().run(model, ...). Await every call, and hand shared queues to bindQueue.',
    { status: 409, code: 'rollout_closed' },
  );
}

function contextLost(): WorkflowError {
  return new WorkflowError(
    'The run made no call in its own context while other runs were active: its calls may have been recorded as theirs. Expected at least one. Hand queues that runs share to bindQueue, or make the client from model.endpoint().',
    { code: 'ROLLOUT_CONTEXT_LOST' },
  );
}
