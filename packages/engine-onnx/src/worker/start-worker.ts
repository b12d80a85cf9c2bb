/**
 * Starts the threads of engine and critic. Both have their own threads, because executing a graph
 * blocks the thread that calls it.
 */
import { EngineError } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import {
  startThread,
  type Link,
  type MethodTable,
  type ThreadExit,
} from '@trinity-rft/core/worker-link';

import {
  closeGate,
  closeGateNow,
  createGateState,
  leaveGate,
  type GateState,
} from '../runtime/native-gate.js';
import { turnOffTelemetry } from '../runtime/telemetry.js';
import type { GatedTask, WorkerTask } from './worker.js';

/**
 * Starts the thread of an engine or a critic. The thread keeps the process alive until the link is
 * closed.
 */
export function startWorker<M extends MethodTable<keyof M>>(task: WorkerTask): Link<M> {
  // Here too, because the thread that creates the sessions cannot set it.
  turnOffTelemetry();
  // `worker.js` is next to this file in the sources, and next to the bundle in the package.
  const gate = createGateState();
  const stopWatching = closeGateAtExit(gate);
  return startThread<M, GatedTask>(() => new URL('./worker.js', import.meta.url), {
    name: `trinity-${task.kind}`,
    data: { ...task, gate },
    toError: (record: ErrorRecord) => reviveError(record, EngineError),
    beforeEnd: () => closeGate(gate),
    onEnd: () => {
      stopWatching();
      leaveGate(gate);
    },
    onExit: workerDied,
  });
}

/** Milliseconds that the exit of the process waits for the threads. */
const exitDeadlineMs = 3000;
const interrupted = 130;

/**
 * Closes the gate when the process exits, because `process.exit` terminates all threads at once,
 * even during a call. If calls take longer than {@link exitDeadlineMs}, ends the process with a
 * signal. Returns a function that removes the exit handler.
 */
function closeGateAtExit(gate: GateState): () => void {
  if (gates.size === 0) process.on('exit', onExit);
  gates.add(gate);
  return () => {
    gates.delete(gate);
    if (gates.size === 0) process.off('exit', onExit);
  };
}

/** Gates of all running threads. They share one listener, because Node warns of more than ten. */
const gates = new Set<GateState>();

function onExit(code: number): void {
  const until = Date.now() + exitDeadlineMs;
  if ([...gates].every((gate) => closeGateNow(gate, Math.max(0, until - Date.now())))) return;
  // A signal ends the process without ending its threads first.
  const signal = code === interrupted ? 'SIGINT' : 'SIGKILL';
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function workerDied({ exitCode, cause }: ThreadExit): EngineError {
  const what = exitCode === undefined ? 'could not be started' : `ended with exit code ${exitCode}`;
  return new EngineError(
    `The engine's worker thread ${what}; every open call fails. Open the engine again; if memory ran out, lower the memory budget or the batch size.`,
    { code: 'ENGINE_WORKER_DIED', details: { exitCode }, cause },
  );
}
