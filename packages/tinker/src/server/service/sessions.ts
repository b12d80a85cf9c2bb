/**
 * Sessions of clients. When a client stops sending heartbeats, its session ends, and the session's
 * models and samplers are freed.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@trinity-rft/core';
import { Refusal } from '../refusals/refusal.js';

export interface Session {
  readonly id: string;
  readonly userMetadata: Readonly<Record<string, unknown>>;
  /** Ids of the session's models in training. */
  readonly runs: Set<string>;
  readonly samplers: Set<string>;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
}

export interface Sessions {
  create(userMetadata: Readonly<Record<string, unknown>>): Session;
  /**
   * Finds a session by its id.
   * @throws Refusal 404 if the session is unknown
   */
  find(id: string): Session;
  /**
   * Records a sign of life of the client, and returns its session.
   * @throws Refusal 404 if the session is unknown
   */
  heard(id: string): Session;
  /** Removes a model that was unloaded. */
  removeRun(sessionId: string, runId: string): void;
  /** Ends a session. @throws Refusal 404 if the session is unknown */
  finish(id: string): void;
  /**
   * Ends the session with models that has been silent for longest, if its client has missed its
   * heartbeats. Returns false if there is no such session.
   */
  finishSilent(): boolean;
  close(): void;
}

export interface SessionsOptions {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** Time without heartbeats after which a session ends, in ms. */
  readonly timeoutMs: number;
  readonly onEnd: (session: Session) => void;
}

interface OpenSession extends Session {
  readonly end: AbortController;
  cancelTimeout: () => void;
  heardAt: number;
}

/**
 * Time without heartbeats after which `finishSilent` ends a session, in ms. Clients send a
 * heartbeat every 10 s, so three must have been missed.
 */
const missedBeatsMs = 35_000;

export function createSessions({ clock, timeoutMs, onEnd }: SessionsOptions): Sessions {
  const sessions = new Map<string, OpenSession>();
  const end = (session: OpenSession): void => {
    session.cancelTimeout();
    sessions.delete(session.id);
    session.end.abort();
    onEnd(session);
  };
  const find = (id: string): OpenSession => {
    const session = sessions.get(id);
    if (session !== undefined) return session;
    throw new Refusal(
      404,
      `There is no session ${id}: its client was silent for ${timeoutMs / 1000} s, or for ${missedBeatsMs / 1000} s while another client needed its place, or the server has been started again. Create a new one.`,
    );
  };
  const heard = (id: string): Session => {
    const session = find(id);
    session.heardAt = clock.now();
    session.cancelTimeout();
    session.cancelTimeout = clock.after(timeoutMs, () => end(session));
    return session;
  };
  return {
    create: (userMetadata) => {
      const ended = new AbortController();
      const session: OpenSession = {
        id: `session-${randomUUID()}`,
        userMetadata,
        runs: new Set(),
        samplers: new Set(),
        signal: ended.signal,
        end: ended,
        cancelTimeout: () => undefined,
        heardAt: clock.now(),
      };
      sessions.set(session.id, session);
      heard(session.id);
      return session;
    },
    find,
    heard,
    removeRun: (sessionId, runId) => sessions.get(sessionId)?.runs.delete(runId),
    finish: (id) => end(find(id)),
    finishSilent: () => {
      const [longest] = [...sessions.values()]
        .filter(({ runs }) => runs.size > 0)
        .toSorted((a, b) => a.heardAt - b.heardAt);
      if (!longest || clock.now() - longest.heardAt <= missedBeatsMs) return false;
      end(longest);
      return true;
    },
    close: () => {
      for (const session of sessions.values()) end(session);
    },
  };
}
