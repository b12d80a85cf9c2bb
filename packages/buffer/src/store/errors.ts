/** Errors that are the same for all drivers of the experience store. */
import { BufferError, CancelledError } from '@trinity-rft/core';
import type { TakeFilter } from '@trinity-rft/core/store';

export function duplicateError(uids: readonly string[]): BufferError {
  return new BufferError(
    `${uids.length} of the experiences are already stored (first uid: ${uids[0] ?? ''}); expected every uid to be new, because nothing may be trained twice. Nothing of this batch was stored. Give each experience its own eid (batch/task/run/step/suffix).`,
    { code: 'BUFFER_DUPLICATE', details: { uids: uids.slice(0, 16), count: uids.length } },
  );
}

/**
 * Creates the error for a rollback that is impossible because experiences of later train steps were
 * deleted.
 * @param to train step to which a resumed run rolls back
 */
export function prunedError(path: string, to: number, upTo: number): BufferError {
  return new BufferError(
    `${path} cannot go back to train step ${to}: what was trained on up to step ${upTo} has been deleted (experience_buffer.keep_trained_steps). Resume from a later checkpoint, or start the run again with another name.`,
    { code: 'BUFFER_PRUNED' },
  );
}

/**
 * Creates the error for a call after the store was closed.
 * @param call name of the call, such as `put`
 */
export function closedError(call: string): BufferError {
  return new BufferError(
    `${call}() was called on a closed experience store or source. Close it only after its users have ended.`,
    { code: 'BUFFER_CLOSED' },
  );
}

export function finishedError(): BufferError {
  return new BufferError(
    'put() was called after finish(), which says that no more experiences will come. Call finish() after the last put.',
    { code: 'BUFFER_FINISHED' },
  );
}

/**
 * Creates the error for an acknowledgement of a lease that has already ended.
 * @param how past participle that says how the lease ended, such as `released`
 */
export function leaseEndedError(how: string): BufferError {
  return new BufferError(
    `A lease was acknowledged after it had been ${how}; expected one acknowledgement of an open lease. Take the experiences again.`,
    { code: 'BUFFER_LEASE_ENDED' },
  );
}

/**
 * Creates the error for a repeated batch that is acknowledged with the wrong train step.
 * @param recorded train step that used this batch before
 */
export function otherStepError(trainStep: number, recorded: number): BufferError {
  return new BufferError(
    `The batch of train step ${recorded}, which is made again, was acknowledged as step ${trainStep}. Roll the store back to the checkpoint that the trainer resumes from.`,
    { code: 'BUFFER_RECORD' },
  );
}

interface BatchSize {
  readonly count: number;
  readonly unit?: TakeFilter['unit'];
  readonly maxExploreSteps?: number;
}

/**
 * Checks the size of a batch.
 * @throws BufferError unless `count` is a positive integer, or Infinity together with a finite
 * `maxExploreSteps`
 */
export function assertCount({ count, maxExploreSteps = Infinity }: BatchSize): void {
  if (Number.isInteger(count) && count >= 1) return;
  if (count === Infinity && maxExploreSteps < Infinity) return;
  throw new BufferError(
    `A trainer asked for ${count} experiences; expected a whole number of at least 1 (buffer.train_batch_size).`,
    { code: 'BUFFER_COUNT' },
  );
}

/**
 * Checks the number of a train step.
 * @throws BufferError unless `trainStep` is an integer of at least 0
 */
export function assertTrainStep(trainStep: number): void {
  if (Number.isInteger(trainStep) && trainStep >= 0) return;
  throw new BufferError(
    `${trainStep} is not a train step; expected a whole number of at least 0.`,
    { code: 'BUFFER_TRAIN_STEP' },
  );
}

/** Creates the error for a `take` whose signal aborted. @param reason abort reason of the signal */
export function takeCancelledError(
  { count, unit = 'experiences' }: BatchSize,
  present: number,
  reason: unknown,
): CancelledError {
  const wanted = count === Infinity ? unit : `${count} ${unit}`;
  return new CancelledError(`Waiting for ${wanted} was cancelled; ${present} were there.`, {
    code: 'TAKE_CANCELLED',
    reason:
      CancelledError.is(reason) && reason instanceof CancelledError ? reason.reason : 'aborted',
    cause: reason,
  });
}
