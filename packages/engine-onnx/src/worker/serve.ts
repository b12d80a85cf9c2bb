/** The engine's side of the protocol: answers calls that come in through a port. */
import type { MessagePort } from 'node:worker_threads';

import { EngineCore } from './engine-core.js';
import { toErrorRecord } from './error-record.js';
import { buffersOf, type CallMessage, type Reply, type ToWorker, type WorkerOptions } from './protocol.js';

/** Opens the engine and answers calls. What fails while opening is the answer to every call. */
export function serveEngine(port: MessagePort, options: WorkerOptions): Promise<EngineCore> {
  const opening = EngineCore.open(options);
  const replies: Reply[] = [];

  /** Answers that become ready in one turn leave together: the other side wakes once. */
  const reply = (message: Reply): void => {
    replies.push(message);
    if (replies.length > 1) return;
    setImmediate(() => {
      const ready = replies.splice(0);
      port.postMessage(ready, buffersOf(ready.map((one) => ('result' in one ? one.result : undefined))));
    });
  };
  const answer = async ({ id, method, args }: CallMessage): Promise<void> => {
    try {
      const core = await opening;
      reply({ id, result: await core.call(id, method, args) });
    } catch (error) {
      reply({ id, error: toErrorRecord(error) });
    }
  };
  const cancel = async (id: number): Promise<void> => {
    const core = await opening.catch(() => undefined);
    core?.cancel(id);
  };
  port.on('message', (message: ToWorker) => void ('cancel' in message ? cancel(message.cancel) : answer(message)));
  return opening;
}
