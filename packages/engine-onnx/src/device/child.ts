/**
 * Runs a check in a child process, so that a GPU driver that crashes or hangs does not end the
 * caller.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { EngineError, systemClock } from '@trinity-rft/core';
import { reviveError, type ErrorRecord } from '@trinity-rft/core/store';
import { inheritedFlags, waitingFor } from '@trinity-rft/core/support';

import type { CheckRequest } from './check.js';
import type { CheckOutcome } from './report.js';
import type { CheckKey } from './stored.js';

/** Message from the child process to its parent. */
export type CheckMessage =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'begins'; readonly key: CheckKey }
  | { readonly kind: 'done'; readonly report: CheckOutcome | undefined }
  | { readonly kind: 'failed'; readonly error: ErrorRecord };

export interface ChildOptions {
  /** Program that handles a {@link CheckRequest} and replies with {@link CheckMessage}s. */
  readonly program: URL;
  readonly deadlineMs: number;
  /**
   * Time in ms within which the child must find the GPU and {@link ChildOptions.begins} be called.
   */
  readonly findMs: number;
  readonly report: (line: string) => void;
  /**
   * Called just before the GPU starts to compute, with the key under which the result will be
   * stored.
   */
  readonly begins: (key: CheckKey) => void;
  readonly signal?: AbortSignal;
}

/**
 * Runs a check in a child process and returns its outcome. Returns undefined if only a stored
 * result is requested and there is none.
 * @throws the error of the check; EngineError if the process ends or the deadline passes; the
 * signal's reason if it aborts
 */
export async function checkInChild(
  request: Omit<CheckRequest, 'scratch'>,
  options: ChildOptions,
): Promise<CheckOutcome | undefined> {
  const { deadlineMs, report, signal } = options;
  signal?.throwIfAborted();
  const scratch = await mkdtemp(path.join(tmpdir(), 'trinity-device-'));
  // Standard error is ignored, because drivers write warnings to it.
  const child = fork(fileURLToPath(options.program), {
    serialization: 'advanced',
    ...inheritedFlags(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit').catch(() => undefined);
  const log = { clock: systemClock, logger: { info: report, warn: report } };
  const what = `the check of the GPU, for at most ${deadlineMs / 1000} s`;
  try {
    child.send({ ...request, scratch });
    return await waitingFor(log, { what }, () => answerOf(child, options));
  } finally {
    child.kill('SIGKILL');
    await exited;
    await rm(scratch, { recursive: true, force: true });
  }
}

function answerOf(
  child: ChildProcess,
  { deadlineMs, findMs, report, begins, signal }: ChildOptions,
): Promise<CheckOutcome | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<CheckOutcome | undefined>();
  const stopAfter = (ms: number): (() => void) =>
    systemClock.after(ms, () => reject(ended(`was stopped after ${ms / 1000} s`)));
  const cancels = [stopAfter(deadlineMs), stopAfter(findMs)] as const;
  child.on('message', (message: CheckMessage) => {
    if (message.kind === 'line') report(message.line);
    else if (message.kind === 'begins') {
      cancels[1]();
      begins(message.key);
    } else if (message.kind === 'done') resolve(message.report);
    else reject(reviveError(message.error, EngineError));
  });
  child.on('error', (cause) => reject(ended('could not be started', cause)));
  child.on('exit', (code, by) => reject(ended(`ended by itself (${by ?? `exit code ${code}`})`)));
  const onAbort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => {
    for (const cancel of cancels) cancel();
    signal?.removeEventListener('abort', onAbort);
  });
}

const endedCode = 'ENGINE_GPU_CHECK';

/** Returns true for the error of a check whose process crashed or was stopped at the deadline. */
export const isEndedEarly = (error: unknown): error is EngineError =>
  error instanceof EngineError && error.code === endedCode;

const ended = (what: string, cause?: unknown): EngineError =>
  new EngineError(
    `The process that checks the GPU ${what}. Install the newest driver of the GPU, or set model.device: cpu.`,
    { code: endedCode, cause },
  );
