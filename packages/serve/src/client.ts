/** The product's client for feedback and commits; chat goes through an OpenAI client. */
import { ModelError } from '@trinity-rft/core';
import { sessionField } from './request-session.js';

export interface ServeClientOptions {
  /** `http://HOST:PORT`, with or without `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Session of this client's conversations. @default by the opening of each conversation */
  readonly session?: string;
  /** For feedback without a task. @default each call is a separate task */
  readonly taskId?: string;
  /** @default the global fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** For feedback, commits and metrics, in ms. @default 60_000 */
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
  /** Ids that had the same feedback before. */
  readonly already: readonly string[];
}

export interface CommitReply {
  /** Number of commits so far, without empty ones. */
  readonly step: number;
  /** Choices of calls in this commit. */
  readonly calls: number;
  readonly experiences: number;
}

export interface ServeClient {
  openai(): OpenAISettings;
  /** Applies to all ids or none. @throws ModelError 404 unknown ids, 409 different feedback before */
  feedback(feedback: FeedbackOptions): Promise<FeedbackReply>;
  /** Turns rewarded calls into experiences to train on. Safe to repeat. */
  commit(): Promise<CommitReply>;
  metrics(): Promise<Readonly<Record<string, number>>>;
  /** True if the server answers. Needs no key. */
  alive(): Promise<boolean>;
}

type Json = Readonly<Record<string, unknown>>;

/** Methods throw ModelError with the server's status and message, 503 when it is unreachable. */
export function createServeClient(options: ServeClientOptions): ServeClient {
  const { apiKey, session, fetch = globalThis.fetch, timeoutMs = 60_000 } = options;
  const root = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  const sessionHeaders: Record<string, string> = {};
  if (session !== undefined) sessionHeaders[sessionField] = session;
  const ask = async (method: string, path: string, body?: object): Promise<Json> => {
    const response = await fetch(`${root}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((cause: unknown) => Promise.reject(unreachable(root, cause)));
    const reply = (await response.json().catch(() => ({}))) as Json;
    if (response.ok) return reply;
    throw rejected(response.status, reply);
  };
  return {
    openai: () => ({
      baseURL: `${root}/v1`,
      apiKey,
      defaultHeaders: sessionHeaders,
    }),
    feedback: async ({ reward, msgIds, taskId = options.taskId, runId = 0 }) => {
      const { applied, already } = await ask('POST', '/feedback', {
        reward,
        msg_ids: msgIds,
        run_id: runId,
        task_id: taskId,
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

function rejected(status: number, { error }: Json): ModelError {
  const { message, code } = (error ?? {}) as { readonly message?: string; readonly code?: string };
  return new ModelError(message ?? `The server answered with status ${status}. Look at its log.`, {
    status,
    retryable: status >= 500,
    code,
  });
}

function unreachable(url: string, cause: unknown): ModelError {
  return new ModelError(
    `${url} does not answer. Expected a server started with trinity serve. Start it, or fix the address.`,
    { status: 503, code: 'unreachable', retryable: true, cause },
  );
}
