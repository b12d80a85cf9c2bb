/** Writes and reads the failure files of a training run, and handles uncaught errors. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError, CancelledError } from '@trinity-rft/core';
import { boundedText, causesOf, readableThrown, redactText } from '@trinity-rft/core/support';
import { currentRun } from '@trinity-rft/explorer/internal';
import { guestFolders } from './folders.js';

export const failureFile = 'failure.txt';

/**
 * Returns the original error. Unwraps a `SuppressedError`, which reports that closing resources
 * after an error failed as well.
 */
export function firstCause(error: unknown): unknown {
  let cause = readableThrown(error);
  while (cause instanceof Error && cause.name === 'SuppressedError' && 'suppressed' in cause)
    cause = cause.suppressed;
  return cause;
}

/**
 * Returns the stacks of an error and its causes without secrets, or undefined if the error has no
 * stack.
 */
export function redactedStacks(error: unknown): string | undefined {
  const first = firstCause(error);
  return first instanceof Error && first.stack !== undefined
    ? redactText(stacksOf(error))
    : undefined;
}

/** Returns true for an error that is only a consequence of the interrupt by `signal`. */
export function isInterrupt(error: unknown, signal: AbortSignal): boolean {
  const isInterruption = (cause: Error): boolean =>
    cause instanceof CancelledError || cause === signal.reason || cause.name === 'AbortError';
  return signal.aborted && causesOf(error).some(isInterruption);
}

/**
 * Writes the error with its causes and stacks to `directory`. Never rejects, because the error
 * itself matters more.
 */
export async function writeFailure(directory: string, error: unknown): Promise<void> {
  await writeFile(path.join(directory, failureFile), `${redactText(stacksOf(error))}\n`).catch(
    () => undefined,
  );
}

/**
 * Returns the messages of the newest failure file of a training run or its stages, or undefined if
 * there is no such file.
 */
export async function readFailure(jobDirectory: string): Promise<string | undefined> {
  const inside = await readdir(jobDirectory).catch(() => []);
  const stages = inside.filter((name) => !guestFolders.includes(name));
  const files = ['.', ...stages].map((name) => path.join(jobDirectory, name, failureFile));
  const found = await Promise.all(
    files.map(async (file) => ({ file, at: (await stat(file).catch(() => undefined))?.mtimeMs })),
  );
  const newest = found
    .filter(({ at }) => at !== undefined)
    .toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))[0];
  return newest && messagesIn(await readFile(newest.file, 'utf8'));
}

/**
 * Extracts the messages of a failure file, including those of causes, without the lines of the
 * stacks.
 */
export const messagesIn = (stacks: string): string =>
  stacks
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('at '))
    .join(' ');

const mostCauses = 8;
const longestStack = 20_000;

/**
 * Joins the stacks of an error and its causes, up to {@link mostCauses}, because causes may be
 * circular. Omits other fields of the errors, because those of client libraries may contain
 * requests with API keys.
 */
function stacksOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return describeError(error);
  const stack = boundedText(error.stack ?? error.message, longestStack);
  const { cause } = error;
  if (cause === undefined || depth >= mostCauses) return stack;
  return `${stack}\n  [cause]: ${stacksOf(cause, depth + 1).replaceAll('\n', '\n  ')}`;
}

/**
 * Maximum number of reports per training run. Messages that contain times or ids all differ, so
 * reporting each message once is not a sufficient limit.
 */
const mostReports = 100;

const strayErrors = {
  unhandledRejection: 'A promise was rejected and no code awaits it',
  uncaughtException: 'An error was thrown and no code catches it',
} as const;

/**
 * Catches unhandled rejections and uncaught exceptions, so that they do not end the process, and
 * reports each message once. Such errors occur when a user's agent does not await a promise or does
 * not stop a timer. The attempt that caused the error still ends with its own result or at its
 * deadline.
 */
export function catchStrayErrors(report: (line: string) => void): { stop(): void } {
  const seen = new Set<string>();
  const stops = Object.entries(strayErrors).map(([event, description]) => {
    const listener = (reason: unknown): void => {
      const what = redactText(describeError(reason));
      if (seen.has(what) || seen.size >= mostReports) return;
      seen.add(what);
      const run = currentRun();
      const where = run === undefined ? 'in a workflow?' : `in run ${run}`;
      report(`${description} (${where}): ${what}`);
    };
    process.on(event, listener);
    return () => void process.off(event, listener);
  });
  return { stop: () => stops.forEach((stop) => stop()) };
}
