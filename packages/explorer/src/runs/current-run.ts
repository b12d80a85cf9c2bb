/**
 * Which run the code that executes now belongs to, for messages about a blocked or ended process, and
 * about calls of models that went past its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

interface Run {
  readonly name: string;
  /** Addresses of models that it has called by the global fetch, with the model's name. */
  readonly called: Map<string, string | undefined>;
}

const runs = new AsyncLocalStorage<Run>();

/**
 * Calls `work` as part of the run of that name, and with it everything that it starts. `called` gets
 * the models that it calls by the global fetch, whatever client makes the call.
 */
export async function inRun<T>(
  name: string,
  called: Run['called'],
  work: () => Promise<T>,
): Promise<T> {
  const leave = watchFetch();
  try {
    return await runs.run({ name, called }, work);
  } finally {
    leave();
  }
}

/** Undefined outside of any run. */
export function currentRun(): string | undefined {
  return runs.getStore()?.name;
}

/** Paths of the APIs of OpenAI, Anthropic, Bedrock and Google. */
const modelPath =
  /\/(?:completions|responses|messages|converse|converse-stream)$|\/models\/([^/:]+):\w+$/;
/** A model is named near the beginning of a request; the rest may be long. */
const searchedBody = 10_000;

function noteCall({ called }: Run, ...[input, init]: Parameters<typeof fetch>): void {
  const address = URL.parse(input instanceof Request ? input.url : String(input));
  const path = address && modelPath.exec(address.pathname);
  if (!path) return;
  const body = typeof init?.body === 'string' ? init.body.slice(0, searchedBody) : '';
  const named = path[1] ?? /"model"\s*:\s*"([^"\\]{1,100})"/.exec(body)?.[1];
  called.set(`${address.origin}${address.pathname}`, named);
}

const watch = { runs: 0, undo: (): void => undefined };

/** While runs are in progress. A client that has kept the watched fetch goes on to use it. */
function watchFetch(): () => void {
  if (watch.runs++ === 0) {
    const before = globalThis.fetch;
    const watched: typeof fetch = (...call) => {
      const run = runs.getStore();
      if (run) noteCall(run, ...call);
      return before(...call);
    };
    globalThis.fetch = watched;
    watch.undo = () => {
      if (globalThis.fetch === watched) globalThis.fetch = before;
    };
  }
  return () => {
    if (--watch.runs === 0) watch.undo();
  };
}
