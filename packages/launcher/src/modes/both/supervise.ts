/**
 * Executes explorer and trainer concurrently, and handles the end, failure or interrupt of either.
 */
import { describeError, TrinityError, CancelledError } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { readableThrown } from '@trinity-rft/core/support';
import type { ExplorerState } from '@trinity-rft/explorer';
import type { TrainerResult } from '@trinity-rft/trainer';
import type { Loop } from './loop.js';

export interface Supervised extends Pick<
  Loop,
  'explorer' | 'trainer' | 'synchronizer' | 'point' | 'stop'
> {
  readonly store: ExperienceStore;
  /** State of the explorer to continue from; undefined at the start of the stage. */
  readonly state: ExplorerState | undefined;
  /** Aborts when the user interrupts the training run. */
  readonly interrupt: AbortSignal;
  /** Aborts with an error once the engine can no longer sample. */
  readonly engineFailed: AbortSignal;
}

/**
 * Executes explorer and trainer. Rejects with the first failure of either, which also stops the
 * other.
 */
export async function superviseBoth(parts: Supervised): Promise<TrainerResult> {
  const { engineFailed, interrupt } = parts;
  const failure = sharedFailure(parts);
  // Without this listener, rollouts that fail because the engine is dead would be considered
  // results.
  const onEngineFailed = (): void => failure.report(engineFailed.reason);
  engineFailed.addEventListener('abort', onEngineFailed, { once: true });
  const [trained] = await Promise.allSettled([train(parts, failure), explore(parts, failure)]);
  engineFailed.removeEventListener('abort', onEngineFailed);
  const firstCause = failure.firstCause();
  if (firstCause) throw firstCause;
  if (trained.status === 'rejected') throw trained.reason as Error;
  return { ...trained.value, interrupted: trained.value.interrupted || interrupt.aborted };
}

interface SharedFailure {
  /** Stops both sides, and keeps the first reported error. */
  report(thrown: unknown): void;
  firstCause(): Error | undefined;
}

function sharedFailure({ store, synchronizer, stop }: Supervised): SharedFailure {
  let firstCause: Error | undefined;
  return {
    report: (value) => {
      const thrown = readableThrown(value);
      const error =
        thrown instanceof Error
          ? thrown
          : new TrinityError(`A value that is not an error was thrown: ${describeError(thrown)}`, {
              cause: thrown,
            });
      firstCause ??= error;
      store.fail(error);
      synchronizer.fail(error);
      stop.abort(error);
    },
    firstCause: () => firstCause,
  };
}

async function explore(
  { explorer, synchronizer, store, state, point, interrupt, stop }: Supervised,
  failure: SharedFailure,
): Promise<void> {
  try {
    if (point.catchUp) await synchronizer.exploreBoundary(state?.step ?? 0, stop.signal);
    await explorer.run(state);
    store.finish();
  } catch (error) {
    const isShutdown =
      error instanceof CancelledError && (interrupt.aborted || stop.signal.aborted);
    if (!isShutdown) failure.report(error);
  }
}

async function train(
  { trainer, synchronizer, store, point, stop }: Supervised,
  failure: SharedFailure,
): Promise<TrainerResult> {
  try {
    return await trainer.run(point.trainStep);
  } catch (error) {
    failure.report(error);
    throw error;
  } finally {
    const ended = new CancelledError('The trainer has ended.', { reason: 'shutdown' });
    synchronizer.trainerStopped();
    stop.abort(ended);
    // Wakes an explorer that waits for room in the buffer.
    store.fail(ended);
  }
}
