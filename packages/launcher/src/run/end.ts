/**
 * Reads and writes `end.json`, from which `trinity status` reads how the last process of a training
 * run ended.
 */
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { describeError, TrinityError } from '@trinity-rft/core';
import { failureText, redactText, replaceFile, tryJson } from '@trinity-rft/core/support';

const endFile = 'end.json';

export interface RunEnd {
  readonly how: 'finished' | 'interrupted' | 'failed';
  /** Cause of an interruption: a signal such as `SIGTERM`, or the reason that a program gave. */
  readonly by?: string;
  readonly trainStep?: number;
  /** Name of the stage that ended last; absent in a file without stages. */
  readonly stageName?: string | undefined;
  /** Error of a failed process. */
  readonly error?: EndError;
  /** Time of the end, in milliseconds since the epoch. */
  readonly at: number;
}

/** Description of an error, without secrets. */
interface EndError {
  /** Code of a `TrinityError`. */
  readonly code?: string;
  /** Message of the error, as the command prints it; see `failureText`. */
  readonly message: string;
  /** Messages of the causes alone. */
  readonly cause?: string;
  /** True if all rollouts failed, and would fail in the same way after a restart. */
  readonly willRepeat?: boolean;
}

export function endErrorOf(error: unknown): EndError {
  const { cause } = error instanceof Error ? error : {};
  return {
    ...(TrinityError.is(error) && { code: error.code }),
    ...(TrinityError.is(error) && error.details['willRepeat'] === true && { willRepeat: true }),
    message: failureText(error),
    ...(cause !== undefined && { cause: redactText(describeError(cause)) }),
  };
}

export const forgetEnd = (directory: string): Promise<void> =>
  rm(path.join(directory, endFile), { force: true });

/**
 * Writes how the training run ended. Never rejects, because the outcome of the work matters more
 * than this file.
 */
export async function writeEnd(directory: string, end: RunEnd): Promise<void> {
  const isThere = await stat(directory).catch(() => undefined);
  if (isThere === undefined) return;
  await replaceFile(path.join(directory, endFile), `${JSON.stringify(end)}\n`).catch(
    () => undefined,
  );
}

/**
 * Reads how the last process ended. Returns undefined if a process is active, if there was no
 * process, or if the last process was killed.
 */
export async function readEnd(directory: string): Promise<RunEnd | undefined> {
  const text = await readFile(path.join(directory, endFile), 'utf8').catch(() => undefined);
  return tryJson(text) as RunEnd | undefined;
}

/**
 * Returns the cause of an abort: the signal that the process received, such as `SIGTERM`, or the
 * reason that a program gave.
 */
export const interruptOf = ({ aborted, reason }: AbortSignal): string | undefined => {
  if (!aborted) return undefined;
  const text = describeError(reason);
  return /^The process received (\w+)\.$/.exec(text)?.[1] ?? text;
};

/**
 * Returns a phrase such as `was stopped by SIGTERM after train step 12, on 2026-11-23 at 15:40:24`.
 * A process that recorded no end was `killed`.
 */
export function describeEnd({
  how,
  by,
  trainStep,
  stageName,
  at,
}: Omit<RunEnd, 'how'> & { readonly how: RunEnd['how'] | 'killed' }): string {
  const verbs = { finished: 'finished', interrupted: 'was stopped', failed: 'failed' };
  const verb = { ...verbs, killed: 'was killed or crashed' }[how];
  const cause = by === undefined ? '' : ` by ${by}`;
  const step = trainStep === undefined ? '' : ` after train step ${trainStep}`;
  const stage = stageName === undefined ? '' : ` in stage ${stageName}`;
  return `${verb}${cause}${step}${stage}, on ${timeOf(at)}`;
}

/** Formats a time, in milliseconds since the epoch, as local time. */
const timeOf = (at: number): string => {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19).replace('T', ' at ');
};
