/**
 * Starts the threads of engine and critic: each has its own thread, because running a graph
 * blocks the thread that it is called in.
 */
import { EngineError, reviveError, type ErrorRecord } from '@trinity-rft/core/internal';
import {
  startThread,
  type Link,
  type MethodTable,
  type ThreadExit,
} from '@trinity-rft/worker-link';

import type { WorkerTask } from './worker.js';

/** Starts the thread. It keeps the process alive until the link is closed. */
export function startWorker<M extends MethodTable<keyof M>>(task: WorkerTask): Link<M> {
  // Next to this file in the sources, and next to the bundle in the package.
  return startThread<M, WorkerTask>(new URL('./worker.js', import.meta.url), {
    name: `trinity-${task.kind}`,
    data: task,
    toError: (record: ErrorRecord) => reviveError(record, EngineError),
    onExit: workerDied,
  });
}

function workerDied({ exitCode, cause }: ThreadExit): EngineError {
  const what = exitCode === undefined ? 'could not be started' : `ended with exit code ${exitCode}`;
  return new EngineError(
    `The engine's worker thread ${what}; every open call fails. Open the engine again; if memory ran out, lower the memory budget or the batch size.`,
    { code: 'ENGINE_WORKER_DIED', details: { exitCode }, cause },
  );
}
