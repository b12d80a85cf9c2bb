/**
 * Calls users' functions with a timeout and waits for them. After an abort, the wait is limited.
 */
import { type Clock, type Logger, WorkflowError } from '@trinity-rft/core';
import { untilAborted, waitingFor } from '@trinity-rft/core/support';
import { nameOf, type JudgeType } from '../functions/functions.js';
import { checkJudgeOutput } from '../functions/outputs.js';

/** Timeout of each call of a user's function, in ms. Rollouts in training have the same timeout. */
export const callTimeoutMs = 3_600_000;

/**
 * Calls a user's function with a signal that aborts after an hour, or when `signal` aborts. Once
 * `signal` has aborted, the timeout no longer applies; callers limit their wait with {@link
 * allEnded}.
 * @param what name of the function in error messages
 * @throws the errors of `work`, and WorkflowError after an hour
 */
export async function timedCall<T>(
  what: string,
  { signal, clock }: Stop,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const cancel = clock.after(callTimeoutMs, () => timeout.abort(tooLong(what)));
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  const ended = AbortSignal.any([signal, timeout.signal]);
  try {
    return await untilAborted(work(ended), timeout.signal);
  } finally {
    cancel();
    signal.removeEventListener('abort', cancel);
  }
}

/**
 * Calls the judge function with the timeout of {@link timedCall}, and returns its validated output.
 * @param place description of the call that is added to the function's name in error messages, such
 * as " on row 3"
 */
export async function askJudge<Row, Response, Model>(
  judgeFunc: JudgeType<Row, Response, Model>,
  asked: { readonly task: Row; readonly response: Response },
  { logger, ...stop }: Stop & { readonly logger: Logger },
  place = '',
): Promise<ReturnType<typeof checkJudgeOutput>> {
  const name = nameOf(judgeFunc, 'judgeFunc');
  const output = await timedCall(name + place, stop, async (signal) =>
    judgeFunc({ ...asked, auxiliaryModels: {}, logger, signal }),
  );
  return checkJudgeOutput(name, output);
}

const tooLong = (what: string): WorkflowError =>
  new WorkflowError(
    `${what} did not end within ${callTimeoutMs / 1000} s. Give its calls of other services a timeout.`,
    { code: 'CALL_TIMEOUT' },
  );

/** Maximum wait after an abort for work in progress, in ms. */
const graceMs = 5000;

export interface Stop {
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Returns the results of the promises, in order. If any promise rejects, waits until all have
 * settled, so that no work continues in the background, and then rejects with the reason of the
 * first one that rejected, in order. If work has not ended 5 seconds after an abort, throws the
 * signal's reason without waiting any longer.
 */
export async function allEnded<T>(
  promises: readonly Promise<T>[],
  { signal, clock }: Stop,
): Promise<readonly T[]> {
  await endedOrAborted(promises, signal);
  if (signal.aborted && !(await endsInTime(promises, clock))) signal.throwIfAborted();
  return Promise.all(promises);
}

/**
 * Waits for rows like {@link allEnded}. During a long wait, logs the number of rows that have not
 * ended.
 */
export async function allRowsEnded<T>(
  rows: readonly Promise<T>[],
  { signal, clock, logger }: Stop & { readonly logger: Logger },
): Promise<readonly T[]> {
  let left = rows.length;
  const end = (): void => void left--;
  for (const row of rows) void row.then(end, end);
  const what = (): string => `${left > 0 ? `${left} of ` : ''}${rows.length} rows`;
  return waitingFor({ clock, logger }, { what, cause: () => undefined }, () =>
    allEnded(rows, { signal, clock }),
  );
}

/** Resolves when all promises have settled or `signal` aborts. */
export const endedOrAborted = (
  promises: readonly Promise<unknown>[],
  signal: AbortSignal,
): Promise<unknown> => untilAborted(Promise.allSettled(promises), signal).catch(() => undefined);

const endsInTime = (promises: readonly Promise<unknown>[], clock: Clock): Promise<boolean> =>
  new Promise((resolve) => {
    const cancel = clock.after(graceMs, () => resolve(false));
    void Promise.allSettled(promises).then(() => {
      cancel();
      resolve(true);
    });
  });
