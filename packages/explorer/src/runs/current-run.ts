/**
 * Tracks the rollout to which the executing code belongs. Messages name this rollout if the process
 * is blocked or ends, or if the agent calls another model than that of the rollout.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

interface Run {
  readonly name: string;
  /**
   * Models that the rollout has called with Node's fetch. Maps URLs to the names of the models;
   * undefined if the name is unknown.
   */
  readonly called: Map<string, string | undefined>;
}

const runs = new AsyncLocalStorage<Run>();

/**
 * Calls `work` in the context of the rollout with that name, including everything that `work`
 * starts.
 */
export function inRun<T>(name: string, called: Run['called'], work: () => T): T {
  return runs.run({ name, called }, work);
}

/** Returns the name of the current rollout, or undefined outside of any rollout. */
export function currentRun(): string | undefined {
  return runs.getStore()?.name;
}

/** Matches the paths of the APIs of OpenAI, Anthropic, Bedrock and Google. */
const modelPath =
  /\/(?:completions|responses|messages|converse|converse-stream)$|\/models\/([^/:]+):\w+$/;
/**
 * Number of characters of a request body to search for the name of the model, which is usually near
 * the beginning.
 */
const searchedBody = 10_000;

function noteCall({ called }: Run, url: string, body?: unknown): void {
  const address = URL.parse(url);
  const path = address && modelPath.exec(address.pathname);
  if (!path) return;
  const text = typeof body === 'string' ? body.slice(0, searchedBody) : '';
  const named = path[1] ?? /"model"\s*:\s*"([^"\\]{1,100})"/.exec(text)?.[1];
  const key = `${address.origin}${address.pathname}`;
  called.set(key, named ?? called.get(key));
}

/**
 * Channel on which Node's fetch reports its requests, including those of clients that were created
 * before the rollout and hold the original `fetch`.
 */
const requests = 'undici:request:create';

function noteRequest(message: unknown): void {
  const run = runs.getStore();
  const { origin, path } = (message as { request: { origin: unknown; path: unknown } }).request;
  if (run) noteCall(run, `${String(origin)}${String(path)}`);
}

const watch = { runs: 0, undo: (): void => undefined };

/**
 * Records which models rollouts call with Node's fetch, through any client, until the returned
 * function is called. A client that has stored the wrapped `fetch` continues to use it.
 */
export function watchCalls(): () => void {
  if (watch.runs++ === 0) {
    const before = globalThis.fetch;
    const watched: typeof fetch = (input, init) => {
      const run = runs.getStore();
      if (run) noteCall(run, input instanceof Request ? input.url : String(input), init?.body);
      return before(input, init);
    };
    globalThis.fetch = watched;
    subscribe(requests, noteRequest);
    watch.undo = () => {
      unsubscribe(requests, noteRequest);
      if (globalThis.fetch === watched) globalThis.fetch = before;
    };
  }
  return () => {
    if (--watch.runs === 0) watch.undo();
  };
}
