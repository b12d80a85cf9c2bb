/** What a product uses to talk to the server, besides the OpenAI client it has. */
import { ModelError } from '@trinity-rft/core';
import { sessionField } from './session-of.js';

export interface ServeClientOptions {
  /** `http://HOST:PORT`, with or without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Name of the conversations of this client. @default by the opening of each conversation */
  readonly session?: string;
  /** Used where a feedback names no task. @default each call is a task of its own */
  readonly taskId?: string;
  /** @default the global one */
  readonly fetch?: typeof globalThis.fetch;
  /** For feedback, commits and numbers, in ms. @default 60_000 */
  readonly timeoutMs?: number;
}

/** Settings for `new OpenAI(...)`. */
export interface OpenAISettings {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly defaultHeaders: Readonly<Record<string, string>>;
}

export interface FeedbackOptions {
  /** Finite. */
  readonly reward: number;
  /** Ids of answers; `ID:CHOICE` for one of several choices. */
  readonly msgIds: readonly string[];
  readonly taskId?: string;
  /** Attempt at the task. @default 0 */
  readonly runId?: number;
}

export interface FeedbackReply {
  readonly applied: readonly string[];
  /** Had the same feedback before. */
  readonly already: readonly string[];
}

export interface CommitReply {
  /** Commits so far that held something. */
  readonly step: number;
  /** Choices of calls that went into this one. */
  readonly calls: number;
  readonly experiences: number;
}

export interface ServeClient {
  openai(): OpenAISettings;
  /** All of the ids or none. @throws ModelError 404 unknown ids, 409 other feedback before */
  feedback(feedback: FeedbackOptions): Promise<FeedbackReply>;
  /** Rewarded calls become experiences to train on. Repeating it is safe. */
  commit(): Promise<CommitReply>;
  metrics(): Promise<Readonly<Record<string, number>>>;
  /** Whether the server answers. Needs no key. */
  alive(): Promise<boolean>;
}

type Json = Readonly<Record<string, unknown>>;

/** Methods throw ModelError with the server's status and message; 503 when it cannot be reached. */
export function createServeClient(options: ServeClientOptions): ServeClient {
  const { apiKey, session, fetch = globalThis.fetch, timeoutMs = 60_000 } = options;
  const root = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  const ask = async (method: string, path: string, body?: object): Promise<Json> => {
    const response = await fetch(`${root}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((cause: unknown) => Promise.reject(unreachable(root, cause)));
    const reply = (await response.json().catch(() => ({}))) as Json;
    if (response.ok) return reply;
    throw refused(response.status, reply);
  };
  return {
    openai: () => ({
      baseURL: `${root}/v1`,
      apiKey,
      defaultHeaders: sessionHeaders(session),
    }),
    feedback: async ({ reward, msgIds, taskId = options.taskId, runId = 0 }) => {
      const named = taskId === undefined ? {} : { task_id: taskId };
      const { applied, already } = await ask('POST', '/feedback', {
        reward,
        msg_ids: msgIds,
        run_id: runId,
        ...named,
      });
      return { applied, already } as FeedbackReply;
    },
    commit: async () => {
      const { explore_step_num: step, calls, experiences } = await ask('POST', '/commit');
      return { step, calls, experiences } as CommitReply;
    },
    metrics: async () => (await ask('GET', '/metrics')) as Readonly<Record<string, number>>,
    alive: async () => {
      try {
        return (await fetch(`${root}/health`, { signal: AbortSignal.timeout(timeoutMs) })).ok;
      } catch {
        return false;
      }
    },
  };
}

const sessionHeaders = (session: string | undefined): Readonly<Record<string, string>> =>
  session === undefined ? {} : { [sessionField]: session };

function refused(status: number, { error }: Json): ModelError {
  const { message, code } = (error ?? {}) as { readonly message?: string; readonly code?: string };
  return new ModelError(message ?? `The server answered with status ${status}. Look at its log.`, {
    status,
    retryable: status >= 500,
    ...(code !== undefined && { code }),
  });
}

function unreachable(url: string, cause: unknown): ModelError {
  return new ModelError(
    `There is no answer from ${url}. Expected a server started with trinity serve. Start it, or mend the address.`,
    {
      status: 503,
      code: 'unreachable',
      retryable: true,
      cause,
    },
  );
}
