/** Entry of the worker thread: opens the engine and answers calls until the thread is ended. */
import { parentPort, workerData } from 'node:worker_threads';

import { InvariantError } from '@trinity-rft/core';

import { EngineCore } from './engine-core.js';
import { toErrorRecord } from './error-record.js';
import { buffersOf, type CallMessage, type Reply, type ToWorker, type WorkerOptions } from './protocol.js';

if (parentPort === null) throw new InvariantError('The worker of the embedded engine was loaded outside a worker thread; use createOnnxEngine.');
const port = parentPort;
const opening = EngineCore.open(workerData as WorkerOptions);
const replies: Reply[] = [];

port.on('message', (message: ToWorker) => {
  if ('cancel' in message) void opening.then((core) => core.cancel(message.cancel), () => undefined);
  else void answer(message);
});

async function answer({ id, method, args }: CallMessage): Promise<void> {
  try {
    const core = await opening;
    reply({ id, result: await core.call(id, method, args) });
  } catch (error) {
    reply({ id, error: toErrorRecord(error) });
  }
}

/** Answers that become ready in one turn leave together: the main thread wakes once. */
function reply(message: Reply): void {
  replies.push(message);
  if (replies.length > 1) return;
  setImmediate(() => {
    const ready = replies.splice(0);
    port.postMessage(ready, buffersOf(ready.map((one) => ('result' in one ? one.result : undefined))));
  });
}
