/**
 * The engine in a worker thread of its own, because a run of a graph blocks the thread that it is
 * called in.
 */
import { Worker } from 'node:worker_threads';

import { EngineError } from '@trinity-rft/core';

import type { EngineLink } from '../protocol/client.js';
import type { FromWorker } from '../protocol/engine-calls.js';
import type { WorkerTask } from './worker.js';

/** Starts the thread. It keeps the process alive until the link is closed. */
export function startWorker(task: WorkerTask): EngineLink {
  // Beside this file in the sources, and beside the bundle in the package.
  return linkTo(
    new Worker(new URL('./worker.js', import.meta.url), {
      name: `trinity-${task.kind}`,
      workerData: task,
    }),
  );
}

/** The messages and the end of a thread. */
export function linkTo(worker: Worker): EngineLink {
  let crash: unknown;
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    listen: ({ received, ended }) => {
      worker.on('message', (replies: FromWorker) => received(replies));
      worker.on('messageerror', (cause) => ended(unreadable(cause)));
      worker.on('error', (error) => (crash = error));
      worker.on('exit', (exitCode) => ended(workerDied(exitCode, crash)));
    },
    close: async () => void (await worker.terminate()),
  };
}

function unreadable(cause: unknown): EngineError {
  return new EngineError(
    "A message of the engine's worker thread could not be read; this is a bug, please report it.",
    {
      code: 'ENGINE_WORKER_DIED',
      cause,
    },
  );
}

function workerDied(exitCode: number, cause: unknown): EngineError {
  return new EngineError(
    `The engine's worker thread ended with exit code ${exitCode}; every open call fails with it. Open the engine again; if memory ran out, lower the memory budget or the batch.`,
    { code: 'ENGINE_WORKER_DIED', details: { exitCode }, ...(cause !== undefined && { cause }) },
  );
}
