/** A session with the server. The server ends the session if it receives no heartbeats. */
import { type Clock, type Logger, describeError } from '@trinity-rft/core';
import { sessionAnswer } from '../../protocol/index.js';
import { z } from 'zod';
import type { Calls } from './calls.js';

export interface Session {
  readonly id: string;
  /** Returns the sequence number for the session's next model, and increments the counter. */
  nextModel(): number;
  /** Returns the sequence number for the session's next sampler, and increments the counter. */
  nextSampler(): number;
  /** Stops the heartbeats. */
  close(): void;
}

const everyMs = 10_000;

export async function openSession(
  calls: Calls,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Session> {
  const what = 'open a session';
  const request = { tags: ['trinity-rft'], user_metadata: {}, sdk_version: '0.38.0' };
  const answer = await calls.ask('create_session', request, sessionAnswer, { what });
  for (const text of [answer.error_message, answer.warning_message])
    if (text) logger.warn(`The Tinker server says: ${text}`);
  let models = 0;
  let samplers = 0;
  return {
    id: answer.session_id,
    nextModel: () => models++,
    nextSampler: () => samplers++,
    close: keepAlive(calls, answer.session_id, { clock, logger }),
  };
}

/**
 * Sends heartbeats. Failures are only logged, because the next request that uses the session rejects
 * if it has ended.
 */
function keepAlive(
  calls: Calls,
  id: string,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const beat = async (): Promise<void> => {
    try {
      await calls.ask('session_heartbeat', { session_id: id }, z.unknown(), {
        what: 'keep the session',
        signal,
      });
    } catch (error) {
      if (!signal.aborted)
        logger.warn(`The session with the Tinker server is in danger: ${describeError(error)}`);
    }
    if (!signal.aborted) cancel = clock.after(everyMs, () => void beat());
  };
  let cancel = clock.after(everyMs, () => void beat());
  return () => {
    controller.abort();
    cancel();
  };
}
