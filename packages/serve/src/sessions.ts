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

/** Value for the option `keptCalls` of the model of a session. */
export const keptCallsPerSession = 500;

/** Tokens that such a model keeps at most: those of twice as many calls of 8,000 tokens. */
const maxTokensPerSession = 2 * keptCallsPerSession * 8000;

export interface SessionLimits {
  /** Maximum number of sessions to keep. The least recently used ones are evicted. @default 4096 */
  readonly maxSessions?: number;
  /**
   * Maximum number of tokens in all sessions together, including prompts. A session counts as
   * 8,000,000 tokens at most, because its model forgets its oldest calls.
   * @default 16_000_000
   */
  readonly maxTokens?: number;
}

export interface Sessions {
  /**
   * Returns the handler of a session for one request, and creates the session if necessary. Call
   * `end` when the client has the whole response. It marks the session as most recently used, and
   * may evict others.
   */
  begin(session: string): { readonly handler: Handler; readonly end: () => void };
  /** Adds the token count of a recorded call to the session. */
  grow(session: string, tokens: number): void;
  /** Number of sessions with a recorded call. */
  readonly size: number;
}

interface Session {
  readonly handler: Handler;
  /** Number of requests that have begun but not ended. */
  inProgress: number;
  /** Tokens of recorded calls. Without one, the session lasts only as long as its requests. */
  tokens: number;
}

/**
 * Creates a table of sessions. If there are more than the limits allow, the least recently used
 * sessions without a request in progress are evicted. If a conversation of an evicted session
 * continues, its prompt is rendered again from the client's messages. Stored responses of an
 * evicted session are lost.
 */
export function createSessions(
  create: (session: string) => Handler,
  { maxSessions = 4096, maxTokens = 16_000_000 }: SessionLimits = {},
): Sessions {
  /** Sessions in the order in which they were last used. */
  const sessions = new Map<string, Session>();
  let [size, tokens] = [0, 0];
  const evict = (): void => {
    for (const [name, session] of sessions) {
      if (size <= maxSessions && tokens <= maxTokens) return;
      if (session.inProgress > 0) continue;
      sessions.delete(name);
      size--;
      tokens -= session.tokens;
    }
  };
  return {
    get size() {
      return size;
    },
    begin: (name) => {
      const session = sessions.get(name) ?? { handler: create(name), inProgress: 0, tokens: 0 };
      sessions.set(name, session);
      session.inProgress++;
      const end = (): void => {
        sessions.delete(name);
        if (session.tokens > 0 || session.inProgress > 1) sessions.set(name, session);
        // While the request counts as in progress, so that its own session is kept.
        evict();
        session.inProgress--;
      };
      return { handler: session.handler, end };
    },
    grow: (name, added) => {
      const session = sessions.get(name);
      if (!session) return;
      if (session.tokens === 0) size++;
      const before = session.tokens;
      session.tokens = Math.min(before + added, maxTokensPerSession);
      tokens += session.tokens - before;
    },
  };
}
