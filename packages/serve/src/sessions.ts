/**
 * One recording model per conversation partner, as long as there is room: the tokens of a
 * conversation are those that were sampled.
 */

export type Handler = (request: Request) => Promise<Response>;

export interface SessionLimits {
  /** Sessions whose tokens are remembered. @default 4096 */
  readonly maxSessions?: number;
  /** Tokens, prompts included, that all of them remember together. @default 16_000_000 */
  readonly maxTokens?: number;
}

export interface Sessions {
  /**
   * The handler of a session, made when there is none; the session becomes the most recently used
   * one.
   */
  handler(session: string): Handler;
  /** A call of the session has been recorded with so many tokens. */
  grow(session: string, tokens: number): void;
  readonly size: number;
}

interface Session {
  readonly handler: Handler;
  tokens: number;
}

/**
 * The least recently used sessions are forgotten when there are too many: their conversations are
 * rendered anew from what the client sends, and Responses that were stored in them are gone. Calls
 * in progress end as usual.
 */
export function createSessions(
  create: (session: string) => Handler,
  { maxSessions = 4096, maxTokens = 16_000_000 }: SessionLimits = {},
): Sessions {
  /** Least recently used first. */
  const sessions = new Map<string, Session>();
  let tokens = 0;
  const forget = (): void => {
    for (const [name, session] of sessions) {
      if (sessions.size <= maxSessions && tokens <= maxTokens) return;
      sessions.delete(name);
      tokens -= session.tokens;
    }
  };
  return {
    get size() {
      return sessions.size;
    },
    handler: (name) => {
      const session = sessions.get(name) ?? { handler: create(name), tokens: 0 };
      sessions.delete(name);
      sessions.set(name, session);
      forget();
      return session.handler;
    },
    grow: (name, added) => {
      const session = sessions.get(name);
      if (!session) return;
      session.tokens += added;
      tokens += added;
      forget();
    },
  };
}
