/** The worker's side of the protocol: answers calls that come in through a port. */
import type { MessagePort } from 'node:worker_threads';

import { toErrorRecord, type TrinityError } from '@trinity-rft/core';

import {
  buffersOf,
  type CallMessage,
  type CallTable,
  type Reply,
  type ToWorker,
} from '../protocol/engine-calls.js';

/** What answers the calls. */
export interface Core<C extends CallTable<keyof C>> {
  /** Runs one call; `id` is what {@link cancel} refers to. */
  call<M extends keyof C>(id: number, method: M, args: C[M]['args']): Promise<C[M]['result']>;
  /** Gives up the call `id`, if it is still open and can be given up. */
  cancel(id: number): void;
  /** Answers what waits with `error`, waits for the run in progress and frees the sessions. */
  close(error: TrinityError): Promise<void>;
}

/**
 * Answers calls as soon as `opening` has opened what answers them. What fails while opening is the
 * answer to every call.
 */
export function serve<C extends CallTable<keyof C>>(
  port: MessagePort,
  opening: Promise<Core<C>>,
): void {
  // A folder that cannot be opened is reported to the first call, not as a crash of the thread.
  opening.catch(() => undefined);
  const replies: Reply[] = [];

  /** Answers that become ready in one turn leave together: the other side wakes once. */
  const reply = (message: Reply): void => {
    replies.push(message);
    if (replies.length > 1) return;
    setImmediate(() => {
      const ready = replies.splice(0);
      port.postMessage(
        ready,
        buffersOf(ready.map((one) => ('result' in one ? one.result : undefined))),
      );
    });
  };
  const answer = async ({ id, method, args }: CallMessage): Promise<void> => {
    try {
      const core = await opening;
      reply({ id, result: await core.call(id, method as keyof C, args) });
    } catch (error) {
      reply({ id, error: toErrorRecord(error) });
    }
  };
  const cancel = async (id: number): Promise<void> => {
    const core = await opening.catch(() => undefined);
    core?.cancel(id);
  };
  port.on(
    'message',
    (message: ToWorker) => void ('cancel' in message ? cancel(message.cancel) : answer(message)),
  );
}
