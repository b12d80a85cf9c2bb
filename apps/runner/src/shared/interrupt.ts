/** Handles Ctrl-C. The first Ctrl-C stops the run cleanly, and the second one ends the process. */
import type { Terminal } from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Calls `work` with a signal that aborts at the first Ctrl-C.
 * @param then message for the terminal about what happens after the first Ctrl-C
 */
export async function interruptible<T>(
  terminal: Terminal,
  work: (signal: AbortSignal) => Promise<T>,
  then = 'finishing the step and saving the progress',
): Promise<T> {
  const interrupt = new AbortController();
  const release = onInterrupt((name) => {
    terminal.write(`\n${name}: ${then}. Press Ctrl-C again to stop at once.\n`);
    interrupt.abort(new Error(`The process received ${name}.`));
  });
  try {
    return await work(interrupt.signal);
  } finally {
    release();
  }
}

/**
 * Calls `work` as {@link interruptible} does, for work that leaves no partial results.
 * @param then message for the terminal about what happens after the first Ctrl-C
 * @returns undefined if the work was stopped
 */
export function stoppable<T>(
  terminal: Terminal,
  work: (signal: AbortSignal) => Promise<T>,
  then = 'stopping; nothing is written',
): Promise<T | undefined> {
  const stopped = (signal: AbortSignal): Promise<T | undefined> =>
    work(signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
  return interruptible(terminal, stopped, then);
}

/**
 * Calls `work`, which removes its partial results when the process exits. Ctrl-C ends the process.
 */
export async function exitingOnInterrupt<T>(work: () => Promise<T>): Promise<T> {
  const release = onInterrupt(() => process.exit(exitCodes.interrupted));
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Resolves at the first Ctrl-C. A second Ctrl-C ends the process.
 * @param engineFailed signal that aborts if the engine fails; the promise then rejects with its
 * reason
 */
export function untilInterrupted(engineFailed?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = onInterrupt(() => resolve());
    const onFailure = (): void => {
      release();
      reject(engineFailed?.reason as Error);
    };
    engineFailed?.addEventListener('abort', onFailure, { once: true });
  });
}

/**
 * Calls `stop` at the first signal, and ends the process at the second. Returns a function that
 * removes the handlers.
 */
function onInterrupt(stop: (name: NodeJS.Signals) => void): () => void {
  let interrupted = false;
  const onSignal = (name: NodeJS.Signals): void => {
    if (interrupted) process.exit(exitCodes.interrupted);
    interrupted = true;
    stop(name);
  };
  for (const name of signals) process.on(name, onSignal);
  // Stops if the parent process has ended.
  const onOrphaned = (): void => onSignal('SIGTERM');
  process.on('disconnect', onOrphaned);
  // The parent process may have ended before the listener was added.
  if (isOrphaned(process)) onOrphaned();
  return () => {
    process.off('disconnect', onOrphaned);
    for (const name of signals) process.off(name, onSignal);
  };
}

/**
 * Returns true for a process whose parent has ended. Without a channel to a parent, `send` is
 * undefined, and `connected` is undefined in Node and false in Bun.
 */
export const isOrphaned = ({ send, connected }: Pick<NodeJS.Process, 'send' | 'connected'>) =>
  send !== undefined && connected === false;
