/**
 * The errors of experience stores, worded in one place because every driver throws the same ones.
 */
import { BufferError, CancelledError } from '@trinity-rft/core';

export function duplicateError(uids: readonly string[]): BufferError {
  return new BufferError(
    `${uids.length} of the experiences are already stored (first uid: ${uids[0] ?? ''}); expected every uid to be new, because nothing may be ` +
      'trained twice. Nothing of this batch was stored. Give each experience its own eid (batch/task/run/step/suffix).',
    { code: 'BUFFER_DUPLICATE', details: { uids: uids.slice(0, 16), count: uids.length } },
  );
}

export function closedError(what: string): BufferError {
  return new BufferError(
    `${what} was refused: the experience store is closed. Close it only after its users have ended.`,
    {
      code: 'BUFFER_CLOSED',
    },
  );
}

export function finishedError(): BufferError {
  return new BufferError(
    'The experience store was told that no more experiences will come, and then got some. Call finish() after the last put.',
    {
      code: 'BUFFER_FINISHED',
    },
  );
}

export function leaseEndedError(how: string): BufferError {
  return new BufferError(
    `A lease was acknowledged after it had been ${how}; expected one acknowledgement of an open lease. Take the experiences again.`,
    { code: 'BUFFER_LEASE_ENDED' },
  );
}

export function countError(count: number): BufferError {
  return new BufferError(
    `A trainer asked for ${count} experiences; expected a whole number of at least 1 (buffer.train_batch_size).`,
    {
      code: 'BUFFER_COUNT',
    },
  );
}

export function trainStepError(trainStep: number): BufferError {
  return new BufferError(`${trainStep} is no train step; expected a whole number of at least 0.`, {
    code: 'BUFFER_TRAIN_STEP',
  });
}

export function takeCancelledError(
  count: number,
  present: number,
  reason: unknown,
): CancelledError {
  return new CancelledError(
    `Waiting for ${count} experiences was cancelled; ${present} were there.`,
    {
      code: 'TAKE_CANCELLED',
      reason:
        CancelledError.is(reason) && reason instanceof CancelledError ? reason.reason : 'aborted',
      cause: reason,
    },
  );
}
