/** What is left of a run that failed, and errors that reach nobody. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CancelledError, describeError, redactText } from '@trinity-rft/core';

export const failureFile = 'failure.txt';

/** The error that the others follow from: closing what it left open may have failed as well. */
export function firstCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof Error && cause.name === 'SuppressedError' && 'suppressed' in cause)
    cause = cause.suppressed;
  return cause;
}

/** True for work that was given up because `signal` said so. */
export function isInterrupt(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  for (let current = error; current instanceof Error; current = current.cause) {
    if (
      current instanceof CancelledError ||
      current === signal.reason ||
      current.name === 'AbortError'
    )
      return true;
  }
  return false;
}

/**
 * Leaves the error with its causes and stacks in `directory`. Never rejects: what is to be told is
 * the error itself.
 */
export async function writeFailure(directory: string, error: unknown): Promise<void> {
  await writeFile(path.join(directory, failureFile), `${redactText(stacksOf(error))}\n`).catch(
    () => undefined,
  );
}

/**
 * Stacks only: other fields of a client library's errors hold requests, with the keys in them.
 * Causes may go in circles.
 */
function stacksOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return describeError(error);
  const { stack = error.message, cause } = error;
  if (cause === undefined || depth >= 8) return stack;
  return `${stack}\n  [cause]: ${stacksOf(cause, depth + 1).replaceAll('\n', '\n  ')}`;
}

/** Of one run; messages with times or ids in them all differ. */
const mostReports = 100;

const strays = {
  unhandledRejection: 'A promise that nobody awaits was rejected',
  uncaughtException: 'An error that nobody catches was thrown',
} as const;

/**
 * What a user's agent left behind (a promise nobody awaits, a throw in a timer) must not end the
 * run: it is reported, once per message. The attempt it belongs to ends by its own answer or its
 * deadline.
 */
export function catchStrays(report: (line: string) => void): { stop(): void } {
  const seen = new Set<string>();
  const listeners = Object.entries(strays).map(([event, what]) => {
    const listener = (reason: unknown): void => {
      const line = `${what} (in a workflow?): ${describeError(reason)}`;
      if (seen.has(line) || seen.size >= mostReports) return;
      seen.add(line);
      report(line);
    };
    process.on(event, listener);
    return () => void process.off(event, listener);
  });
  return { stop: () => listeners.forEach((stop) => stop()) };
}
