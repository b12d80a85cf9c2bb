/**
 * Keeps a recording model for each session, so that conversations continue from their sampled
 * tokens.
 */

/**
 * Handles a request.
 * @param body body of the request, if it was already read
 */
export type Handler = (request: Request, body?: ParsedBody) => Promise<Response>;

/** The body of a request, read and parsed. */
export interface ParsedBody {
  readonly value: unknown;
  /** Digest of the body's bytes. */
  readonly digest: string;
}

/** Model of one session. */
export interface SessionModel {
  readonly handler: Handler;
  /**
   * Returns the number of tokens of the calls that the model keeps. If it is 0, the session lasts
   * only as long as its requests.
   */
  keptTokens(): number;
}

/** Limits of the sessions without a request in progress. */
export interface SessionLimits {
  /** Maximum number of sessions to keep. @default 4096 */
  readonly maxSessions?: number;
  /** Maximum number of tokens in all sessions together, including prompts. @default 16_000_000 */
  readonly maxTokens?: number;
}

export interface Sessions {
  /**
   * Returns the handler of a session for one request, and creates the session if necessary. Call
   * `end` when the client has the whole response. It marks the session as most recently used, and
   * may evict others.
   */
  begin(session: string): { readonly handler: Handler; readonly end: () => void };
  /** Number of sessions, including those with a request in progress. */
  readonly size: number;
}

interface Session {
  readonly model: SessionModel;
  /** Number of requests that have begun but not ended. */
  inProgress: number;
  /** Tokens that the model kept when the session was last used. */
  tokens: number;
}

/**
 * Creates a table of sessions. If there are more than the limits allow, the least recently used
 * sessions are evicted, but not the last one. Sessions with a request in progress are neither
 * evicted nor counted. If a conversation of an evicted session continues, its prompt is rendered
 * again from the client's messages. Stored responses of an evicted session are lost.
 */
export function createSessions(
  create: (session: string) => SessionModel,
  { maxSessions = 4096, maxTokens = 16_000_000 }: SessionLimits = {},
): Sessions {
  const busy = new Map<string, Session>();
  /** Sessions without a request in progress, in the order in which they were last used. */
  const idle = new Map<string, Session>();
  let tokens = 0;
  const take = (name: string): Session | undefined => {
    const session = idle.get(name);
    if (idle.delete(name)) tokens -= session!.tokens;
    return session;
  };
  const put = (name: string, session: Session): void => {
    session.tokens = session.model.keptTokens();
    if (session.tokens === 0) return;
    tokens += session.tokens;
    for (const other of idle.keys()) {
      if (idle.size < maxSessions && tokens <= maxTokens) break;
      take(other);
    }
    idle.set(name, session);
  };
  return {
    get size() {
      return busy.size + idle.size;
    },
    begin: (name) => {
      const session = busy.get(name) ??
        take(name) ?? { model: create(name), inProgress: 0, tokens: 0 };
      busy.set(name, session);
      session.inProgress++;
      const end = (): void => {
        if (--session.inProgress > 0) return;
        busy.delete(name);
        put(name, session);
      };
      return { handler: session.model.handler, end };
    },
  };
}
