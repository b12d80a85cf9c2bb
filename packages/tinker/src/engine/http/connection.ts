/**
 * Sends requests to the server. Each request has a deadline and is retried while the server is busy
 * or down. Any other error status is not retried and rejects with an EngineError.
 */
import {
  describeError,
  type Clock,
  type Logger,
  CancelledError,
  ConfigError,
  EngineError,
} from '@trinity-rft/core';
import { addressProblem, beginWait, retryAfterMs } from '@trinity-rft/core/support';
import { actionFor, errorDetail, type ErrorPlace } from '../../protocol/index.js';
import { answerError, unanswered, unreachable } from './errors.js';

export interface ConnectionOptions {
  /** URL of the server, without a trailing slash. */
  readonly baseUrl: string;
  /** API key, sent as `x-api-key`. */
  readonly apiKey: string | undefined;
  /**
   * Maximum time for which a request is retried while the server is down or busy, in ms. When it
   * has passed, the training run fails.
   */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Signal that aborts every request. @default no signal */
  readonly signal?: AbortSignal;
  /** Signal that ends retries. Requests that fail after it aborts are not repeated. */
  readonly stop?: AbortSignal;
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** A path, or a full URL. The API key is sent only to `baseUrl`. */
  readonly path: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Purpose of the request, used in error messages, such as "save the weights". */
  readonly what: string;
  /** Kind of request. It determines how the client reacts to an error status. @default "submit" */
  readonly place?: ErrorPlace;
  /**
   * Condition for retrying after a connection error. With `always`, the request is always retried,
   * because the server recognises repeated requests or because executing it twice is harmless. With
   * `unsent`, it is retried only if it did not reach the server; otherwise it fails, and the
   * training run continues from its last checkpoint.
   * @default "always"
   */
  readonly repeat?: 'always' | 'unsent';
  /**
   * Maximum time for which the request is retried, in ms. @default `patienceMs` of the connection
   */
  readonly patienceMs?: number;
  /** Error status after which the request is not retried. @default no such status */
  readonly finalStatus?: number;
  /** Timeout of one attempt, in ms. @default 60 s */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /**
   * Called before each attempt, including retries. If it rejects, the request is not sent and
   * rejects with the same error.
   */
  readonly before?: () => Promise<void>;
  /** Wait that this request shares with other requests. @default a wait for this request alone */
  readonly wait?: ServerWait;
}

/** A wait for the server by one or more requests. It is logged if it takes long. */
interface ServerWait {
  /** Reason for the retry in progress; undefined while the server is working on the request. */
  problem: EngineError | undefined;
  readonly end: () => void;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly location: string | undefined;
  readonly bytes: Uint8Array;
}

export interface Connection {
  /**
   * Sends a request. Returns the response if its status is a success or a redirect. Returns
   * undefined if the server responds that the requested result is not ready.
   * @throws EngineError if the server rejects the request or stays unreachable, and CancelledError
   * on abort
   */
  send(request: Request): Promise<Answer | undefined>;
  /** Starts a wait shared by several requests that serve the same purpose. */
  beginWait(what: string): ServerWait;
  /** Number of failed attempts of all requests so far. */
  failures(): number;
  /** Returns the numbers of requests and retries since the last call, and resets both counters. */
  takeCounts(): { readonly requests: number; readonly retries: number };
}

/**
 * Pause before the first retry, in ms. The pause doubles with each attempt, up to `longestPauseMs`.
 */
const firstPauseMs = 250;
const longestPauseMs = 15_000;
const defaultTimeoutMs = 60_000;

/**
 * Creates a connection without contacting the server.
 * @throws ConfigError if `baseUrl` is not a valid URL, or contains a password
 */
export function connect(options: ConnectionOptions): Connection {
  const fault = addressProblem(options.baseUrl, 'the environment variable TINKER_API_KEY');
  if (fault !== undefined)
    throw new ConfigError(
      `The address of the Tinker server, model.tinker.base_url or TINKER_BASE_URL: ${fault}`,
      { code: 'TINKER_ADDRESS' },
    );
  const { clock, patienceMs, signal: ended, stop } = options;
  let requests = 0;
  let retries = 0;
  let failures = 0;

  const beginServerWait = (what: string): ServerWait => {
    const cause = (): string | undefined => wait.problem && describeError(wait.problem);
    const end = beginWait(options, `the Tinker server ${options.baseUrl} to ${what}`, cause);
    const wait: ServerWait = { problem: undefined, end };
    return wait;
  };
  const send = async (asked: Request): Promise<Answer | undefined> => {
    const of = (...more: readonly (AbortSignal | undefined)[]): StoppableRequest => {
      const signals = [asked.signal, ended, ...more].flatMap((signal) => signal ?? []);
      return { ...asked, signal: AbortSignal.any(signals) };
    };
    const first = of();
    const again = of(stop);
    const until = clock.now() + (asked.patienceMs ?? patienceMs);
    const wait = asked.wait ?? beginServerWait(asked.what);
    try {
      for (let attempt = 0; ; attempt++) {
        await asked.before?.();
        requests++;
        const outcome = await attemptOnce(options, attempt > 0 ? again : first);
        wait.problem = outcome.kind === 'again' ? outcome.error : undefined;
        if (outcome.kind === 'answer') return outcome.answer;
        if (outcome.kind === 'not-ready') return undefined;
        failures++;
        const ownPauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
        const pauseMs = Math.max(ownPauseMs, outcome.afterMs);
        if (clock.now() + pauseMs > until) throw outcome.error;
        retries++;
        await pause(options, again, pauseMs);
      }
    } finally {
      if (asked.wait === undefined) wait.end();
    }
  };
  const takeCounts: Connection['takeCounts'] = () => {
    const counts = { requests, retries };
    requests = 0;
    retries = 0;
    return counts;
  };
  return { send, beginWait: beginServerWait, failures: () => failures, takeCounts };
}

async function pause(
  { clock }: ConnectionOptions,
  request: StoppableRequest,
  ms: number,
): Promise<void> {
  try {
    await clock.sleep(ms, request.signal);
  } catch {
    throw cancelled(request);
  }
}

/** A request with a signal that aborts when the caller aborts or the engine is closed. */
type StoppableRequest = Request & { readonly signal: AbortSignal };

type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'not-ready' }
  | { readonly kind: 'again'; readonly afterMs: number; readonly error: EngineError };

async function attemptOnce(
  options: ConnectionOptions,
  request: StoppableRequest,
): Promise<Outcome> {
  const { what, place = 'submit', repeat = 'always', signal } = request;
  let response: Response;
  let bytes: Uint8Array;
  const late = new AbortController();
  const cancel = options.clock.after(request.timeoutMs ?? defaultTimeoutMs, () => late.abort());
  try {
    response = await fetchOnce(options, request, late.signal);
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    if (signal.aborted) throw cancelled(request);
    // The work may still be in progress, or the connection may have ended without notice.
    if (place === 'future' && late.signal.aborted) return { kind: 'not-ready' };
    if (repeat === 'unsent' && !wasNotSent(cause)) throw unanswered(options, what, cause);
    return { kind: 'again', afterMs: 0, error: unreachable(options, what, cause) };
  } finally {
    cancel();
  }
  if (response.status < 400) return { kind: 'answer', answer: answerOf(response, bytes) };
  const detail = errorDetail(new TextDecoder().decode(bytes));
  const action = actionFor(response.status, place, detail);
  if (action === 'poll-again') return { kind: 'not-ready' };
  const error = answerError({ ...options, what, status: response.status, action, detail });
  if (action !== 'retry' || response.status === request.finalStatus) throw error;
  const afterMs = retryAfterMs(response.headers.get('retry-after'), options.clock.now());
  return { kind: 'again', afterMs, error };
}

function fetchOnce(
  { baseUrl, apiKey }: ConnectionOptions,
  { method, path, body, headers, signal }: StoppableRequest,
  late: AbortSignal,
): Promise<Response> {
  const url = new URL(path.startsWith('/') ? baseUrl + path : path);
  const own = url.origin === new URL(baseUrl).origin;
  const key: Record<string, string> = own && apiKey !== undefined ? { 'x-api-key': apiKey } : {};
  return fetch(url, {
    method,
    body,
    headers: { ...key, ...headers },
    // Redirects are handled by the caller, because another host must not get the key.
    redirect: 'manual',
    signal: AbortSignal.any([late, signal]),
  });
}

const answerOf = ({ status, headers }: Response, bytes: Uint8Array): Answer => ({
  status,
  contentType: headers.get('content-type') ?? '',
  location: headers.get('location') ?? undefined,
  bytes,
});

const cancelled = ({ what, signal }: StoppableRequest): unknown =>
  signal.reason instanceof EngineError
    ? signal.reason
    : new CancelledError(`It was no longer needed to ${what}.`, {
        reason: 'aborted',
        cause: signal.reason,
      });

/**
 * Returns true if the request did not reach a server, because nothing listened or the host is
 * unknown.
 */
function wasNotSent(cause: unknown): boolean {
  const { code, cause: inner } = (cause ?? {}) as {
    readonly code?: string;
    readonly cause?: unknown;
  };
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return true;
  return inner !== undefined && wasNotSent(inner);
}
