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

export interface SessionLimits {
  /** Maximum number of sessions to keep. The least recently used ones are evicted. @default 4096 */
  readonly maxSessions?: number;
  /**
   * Maximum number of tokens in all sessions together, including prompts. The most recently used
   * session may exceed it alone.
   * @default 16_000_000
   */
  readonly maxTokens?: number;
}

export interface Sessions {
  /**
   * Returns the handler of a session, and creates the session if it does not exist. Marks the
   * session as most recently used.
   */
  handler(session: string): Handler;
  /**
   * Adds the token count of a recorded call to the session, and marks the session as most recently
   * used. May evict other sessions.
   */
  grow(session: string, tokens: number): void;
  readonly size: number;
}

interface Session {
  readonly handler: Handler;
  calls: number;
  /** Tokens of the latest calls, of which there are at most {@link keptCallsPerSession}. */
  latest: number;
  /** Tokens of the calls before them, as many at most. The model has forgotten older calls. */
  earlier: number;
}

/**
 * Creates a table of sessions. If there are more than the limits allow, the least recently used
 * sessions are evicted, but never the most recently used one. If a conversation of an evicted
 * session continues, its prompt is rendered again from the client's messages. Stored responses of
 * an evicted session are lost. Calls in progress finish as usual.
 */
export function createSessions(
  create: (session: string) => Handler,
  { maxSessions = 4096, maxTokens = 16_000_000 }: SessionLimits = {},
): Sessions {
  /** Sessions by name, least recently used first. */
  const sessions = new Map<string, Session>();
  let tokens = 0;
  const forget = (): void => {
    for (const [name, session] of sessions) {
      if (sessions.size === 1 || (sessions.size <= maxSessions && tokens <= maxTokens)) return;
      sessions.delete(name);
      tokens -= session.latest + session.earlier;
    }
  };
  const use = (name: string, session: Session): void => {
    sessions.delete(name);
    sessions.set(name, session);
    forget();
  };
  return {
    get size() {
      return sessions.size;
    },
    handler: (name) => {
      const session = sessions.get(name) ?? newSession(create(name));
      use(name, session);
      return session.handler;
    },
    grow: (name, added) => {
      const session = sessions.get(name);
      if (!session) return;
      if (++session.calls % keptCallsPerSession === 0) {
        tokens -= session.earlier;
        session.earlier = session.latest;
        session.latest = 0;
      }
      session.latest += added;
      tokens += added;
      use(name, session);
    },
  };
}

const newSession = (handler: Handler): Session => ({ handler, calls: 0, latest: 0, earlier: 0 });
