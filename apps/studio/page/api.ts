/** Sends requests to the server, and receives its events. */
import type { RunEvent } from '@trinity-rft/inspect/studio/interface';
import { createParser } from 'eventsource-parser';
import { words } from './words/frame.js';

/** Returns the message of an error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Thrown when the server responds with an error. */
export class Refusal extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** True once the server has sent its last event: it ends with the run that it was started beside. */
let isLast = false;
/** True once the page has loaded the last state, and starts no more requests. */
let isOver = false;

/**
 * True if the page must not load or draw, because its tab is hidden, and local training may need
 * the computing time. False after the last event, when the training has ended.
 */
export const isResting = (): boolean => document.hidden && !isLast;
export const hasLastEvent = (): boolean => isLast;

/**
 * Returns true if a retry may succeed, and false if the server has ended with its run, or rejected
 * the request itself or its key.
 */
export const isWorthAgain = (error: unknown): boolean =>
  !isOver && !(error instanceof Refusal && [400, 401, 404].includes(error.status));

/** Time in ms after which a failed request is repeated. */
export const afterErrorMs = 3000;

const storageName = 'trinity-studio-key';

/** Keys that can be sent. Others were changed where they were copied, as by a "…" in the middle. */
const isKey = /^[ -~]{16,}$/;

/**
 * Moves the server's key from the URL to session storage, where it survives reloads.
 * @returns undefined if the URL has no key, and an empty text for what cannot be a key
 */
function takeKey(): string | undefined {
  const text = new URLSearchParams(location.hash.slice(1)).get('key');
  if (text === null) return undefined;
  const given = isKey.test(text) ? text : '';
  sessionStorage.setItem(storageName, given);
  const rest = new URLSearchParams(location.hash.slice(1));
  rest.delete('key');
  history.replaceState(null, '', `#${rest.toString()}`);
  return given;
}

export const key = takeKey() ?? sessionStorage.getItem(storageName) ?? '';
const headers = { authorization: `Bearer ${key}` };

// A printed address that is opened in a tab of the studio changes the hash, but loads nothing.
addEventListener('hashchange', () => {
  const given = takeKey();
  if (given !== undefined && (given !== key || isOver)) location.reload();
});

async function request(path: string, options: RequestInit = {}): Promise<Response> {
  if (isOver) throw new Error(words.over);
  const response = await fetch(`api/${path}`, { ...options, headers }).catch((error: unknown) => {
    throw error instanceof TypeError ? new Error(words.unreachable, { cause: error }) : error;
  });
  if (response.ok) return response;
  // A proxy may answer with a page.
  const { error } = (await response.json().catch(() => ({}))) as { readonly error?: string };
  throw new Refusal(error ?? `Status ${response.status}`, response.status);
}

/** Number of calls of {@link ask} and {@link act} in progress. */
let asked = 0;

async function answerOf<T>(path: string, options: RequestInit): Promise<T> {
  asked++;
  try {
    return (await (await request(path, options)).json()) as T;
  } finally {
    asked--;
  }
}

export const ask = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  answerOf(path, { signal: signal ?? null });

export const runPath = (
  run: string,
  rest: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string => {
  const given = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => [name, String(value)] as [string, string]);
  return `runs/${encodeURIComponent(run)}/${rest}?${new URLSearchParams(given).toString()}`;
};

/** Sends an action, and returns the parsed JSON response. */
export const act = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  answerOf(`actions/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

/** Sends an action. Yields each line of the response, parsed as JSON, as it arrives. */
export async function* lines<T>(
  path: string,
  body: unknown,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const options = { method: 'POST', body: JSON.stringify(body), signal };
  const { body: stream } = await request(`actions/${path}`, options);
  let rest = '';
  for await (const text of stream?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield JSON.parse(part) as T;
  }
}

export const actionPath = (run: string, rest: string): string =>
  `runs/${encodeURIComponent(run)}/${rest}`;

/** Downloads a file from the server. */
export async function save(path: string, name: string): Promise<void> {
  saveBlob(await (await request(path)).blob(), name);
}

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

/** Returns a file name that consists of the given names of runs and metrics. */
export const fileName = (...parts: readonly string[]): string =>
  parts.join('-').replaceAll(/[^\w.-]+/g, '_');

const againMs = 500;

/** Time in ms in which the page draws the last event, and begins to load what has changed. */
const drawMs = 500;

/**
 * Calls `onEvent` with every event until the server ends with its run. Reconnects when the
 * connection ends or no data arrives for some time.
 */
export async function followRuns(
  onEvent: (event: RunEvent) => void,
  onState: (isConnected: boolean, problem?: string) => void,
): Promise<void> {
  for (;;) {
    let problem: string | undefined;
    try {
      await readEvents(onEvent, onState);
    } catch (error) {
      problem = messageOf(error);
    }
    if (isLast) return;
    onState(false, problem);
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** Maximum time in ms for the server to respond to a request for events. */
const answerMs = 10_000;
/**
 * Time in ms without data after which the connection is considered dead, for example after a laptop
 * was suspended. The server sends a comment every 10 s.
 */
const silentMs = 25_000;

async function readEvents(
  onEvent: (event: RunEvent) => void,
  onState: (isConnected: boolean) => void,
): Promise<void> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waitFor = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error(words.silent)), ms);
  };
  try {
    waitFor(answerMs);
    const { body } = await request('events', { signal: silence.signal });
    if (!body) return;
    onState(true);
    waitFor(silentMs);
    const parser = createParser({
      onEvent: ({ data }) => {
        const event = JSON.parse(data) as RunEvent;
        isLast ||= event.ended !== undefined;
        onEvent(event);
        // What a hidden tab has not loaded yet is loaded now.
        if (isLast) document.dispatchEvent(new Event('visibilitychange'));
      },
    });
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      waitFor(silentMs);
      parser.feed(text);
      if (!isLast) continue;
      // The server waits until the page leaves the events.
      do await new Promise((resolve) => setTimeout(resolve, drawMs));
      while (asked > 0);
      return;
    }
  } finally {
    clearTimeout(timer);
    isOver = isLast;
  }
}
