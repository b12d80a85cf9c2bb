/**
 * Client with which a product sends feedback and commits to the server. For chat, the product uses
 * an OpenAI client.
 */
import { ConfigError, ModelError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import type { CommitResult } from './commit.js';
import { sessionField } from './request-session.js';
import type { FeedbackResult } from './turns/turn-store.js';

export interface ServeClientOptions {
  /** URL of the server, `http://HOST:PORT`, with or without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /**
   * Session to which this client's conversations belong.
   * @default undefined: the server derives a session from the beginning of each conversation
   */
  readonly session?: string;
  /**
   * Id of the task, for feedback without a `taskId`.
   * @default undefined: each call is a separate task
   */
  readonly taskId?: string;
  /** Function that sends requests. @default the global fetch */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Timeout in milliseconds for each request of this client. It does not apply to the OpenAI
   * client.
   * @default 60_000
   */
  readonly timeoutMs?: number;
}

/** Settings for an OpenAI client, to pass to `new OpenAI(...)`. */
export interface OpenAISettings {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly defaultHeaders: Readonly<Record<string, string>>;
}

export interface FeedbackOptions {
  /** Reward of the calls, a finite number from -1e9 to 1e9. */
  readonly reward: number;
  /** Ids of the completions or responses to reward. `ID:CHOICE` names one of several choices. */
  readonly msgIds: readonly string[];
  readonly taskId?: string;
  /**
   * Number of the attempt at the task, from 0. Calls with the same number are one attempt.
   * @default undefined: a call whose prompt begins with all tokens of another call of its session belongs
   * to the same attempt; every other call is an attempt of its own
   */
  readonly runId?: number;
}

export interface ServeClient {
  openai(): OpenAISettings;
  /**
   * Sends the reward of the given calls. If one id is rejected, none is rewarded.
   * @throws ModelError 404 for unknown ids, 409 if an id already has different feedback
   */
  feedback(feedback: FeedbackOptions): Promise<FeedbackResult>;
  /**
   * Turns the calls rewarded so far into experiences for training. Repeating it is safe: each call
   * is used once.
   */
  commit(): Promise<CommitResult>;
  metrics(): Promise<Readonly<Record<string, number>>>;
  /**
   * Resolves to true if the server is reachable and healthy, and to false otherwise. No key is
   * needed.
   */
  alive(): Promise<boolean>;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Creates a client. Methods that call the server throw a ModelError. It has the status and message
 * of the server, or status 503 if the server cannot be reached, 504 if it has not replied within
 * `timeoutMs`, or 502 if another program replied. `alive` does not throw.
 * @throws ConfigError `HEADER_INVALID` for a session or key with characters that are not allowed in
 * an HTTP header
 */
export function createServeClient(options: ServeClientOptions): ServeClient {
  const { fetch = globalThis.fetch, timeoutMs = 60_000 } = options;
  // Headers have no space around their values, such as the line end of a file with a key.
  const [apiKey, session] = [options.apiKey.trim(), options.session?.trim()];
  const root = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  checkHeader('session', session);
  checkHeader('apiKey', apiKey);
  const sessionHeaders: Record<string, string> = {};
  if (session !== undefined) sessionHeaders[sessionField] = session;
  /**
   * Sends a request and returns the reply.
   * @param fields fields that the reply must have
   */
  const ask = async (
    method: string,
    path: string,
    fields: readonly string[],
    body?: object,
  ): Promise<Json> => {
    const request = fetch(`${root}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const [{ ok, status }, text] = await request
      .then(async (response) => [response, await response.text()] as const)
      .catch((cause: unknown) => {
        const isLate = cause instanceof Error && cause.name === 'TimeoutError';
        throw isLate
          ? late(`${method} ${root}${path}`, timeoutMs, cause)
          : unreachable(root, cause);
      });
    const reply = objectIn(text);
    if (!ok) throw rejected(status, reply);
    if (fields.every((field) => field in reply)) return reply;
    throw notServe(`${root}${path}`);
  };
  return {
    openai: () => ({
      baseURL: `${root}/v1`,
      apiKey,
      defaultHeaders: sessionHeaders,
    }),
    feedback: async ({ reward, msgIds, taskId = options.taskId, runId }) => {
      const { applied, already } = await ask('POST', '/feedback', ['applied', 'already'], {
        reward,
        msg_ids: msgIds,
        run_id: runId,
        task_id: taskId,
      });
      return { applied, already } as FeedbackResult;
    },
    commit: async () => {
      const fields = ['explore_step_num', 'calls', 'experiences'];
      const { explore_step_num: step, calls, experiences } = await ask('POST', '/commit', fields);
      return { step, calls, experiences } as CommitResult;
    },
    metrics: async () =>
      (await ask('GET', '/metrics', ['explore_step_num'])) as Readonly<Record<string, number>>,
    alive: async () => {
      try {
        return (await fetch(`${root}/health`, { signal: AbortSignal.timeout(timeoutMs) })).ok;
      } catch {
        return false;
      }
    },
  };
}

/** Remedies for values that contain characters not allowed in an HTTP header, by option. */
const remedies = {
  session: 'Encode it, for example with encodeURIComponent.',
  apiKey: 'Use the key of the server: TRINITY_SERVE_KEY, or what trinity serve printed.',
};

/**
 * Checks that a value can be sent in an HTTP header. The error message does not contain the value
 * of a key.
 * @throws ConfigError `HEADER_INVALID`
 */
function checkHeader(field: keyof typeof remedies, value = ''): void {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return;
  const shown = field === 'session' ? ` ${JSON.stringify(value.slice(0, 100))}` : '';
  throw new ConfigError(
    `${field}${shown} has a character that no HTTP header can carry. Expected Latin letters, digits and punctuation. ${remedies[field]}`,
    { code: 'HEADER_INVALID' },
  );
}

/** Parses a JSON object. Returns an empty object if the text is anything else. */
function objectIn(text: string): Json {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function rejected(status: number, { error }: Json): ModelError {
  const { message, code } = (error ?? {}) as { readonly message?: string; readonly code?: string };
  return new ModelError(message ?? `The server answered with status ${status}. Look at its log.`, {
    status,
    retryable: status >= 500,
    code,
  });
}

function notServe(url: string): ModelError {
  return new ModelError(
    `${url} has another reply than that of trinity serve. Expected its address. Fix the address, or sign in to the proxy before it.`,
    { status: 502, code: 'unexpected_reply' },
  );
}

function late(request: string, timeoutMs: number, cause: unknown): ModelError {
  return new ModelError(
    `${request} had no reply within ${timeoutMs / 1000} s. The server may still be working on it, or the address is wrong. Repeat the request, which has no second effect, increase timeoutMs, or fix the address.`,
    { status: 504, code: 'timeout', retryable: true, cause },
  );
}

function unreachable(url: string, cause: unknown): ModelError {
  return new ModelError(
    `${url} does not answer. Expected a server started with trinity serve. Start it, or fix the address.`,
    { status: 503, code: 'unreachable', retryable: true, cause },
  );
}
