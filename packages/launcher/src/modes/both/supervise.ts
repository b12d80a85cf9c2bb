/**
 * Explorer and trainer side by side: what happens when one of them ends, fails or is interrupted.
 */
import {
  CancelledError,
  describeError,
  TrinityError,
  type ExperienceStore,
} from '@trinity-rft/core';
import type { Explorer, ExplorerState } from '@trinity-rft/explorer';
import type { Synchronizer } from '@trinity-rft/synchronizer';
import type { Trainer, TrainerResult } from '@trinity-rft/trainer';
import type { ResumePoint } from './resume.js';

export interface Supervised {
  readonly explorer: Explorer;
  readonly trainer: Trainer;
  readonly store: ExperienceStore;
  readonly synchronizer: Synchronizer;
  /** Where the explorer goes on. */
  readonly state: ExplorerState | undefined;
  readonly point: ResumePoint;
  /** The user's interrupt. */
  readonly interrupt: AbortSignal;
  /** Aborts with an error when the engine is dead. */
  readonly gone: AbortSignal;
  /** Stops both sides. */
  readonly stop: AbortController;
}

/** The first failure of either side reaches the other at once and is what the run fails with. */
export async function superviseBoth({
  explorer,
  trainer,
  store,
  synchronizer,
  state,
  point,
  interrupt,
  gone,
  stop,
}: Supervised): Promise<TrainerResult> {
  let firstCause: Error | undefined;
  const fail = (thrown: unknown): void => {
    const error =
      thrown instanceof Error
        ? thrown
        : new TrinityError(`Something that is no error was thrown: ${describeError(thrown)}`, {
            cause: thrown,
          });
    firstCause ??= error;
    store.fail(error);
    synchronizer.fail(error);
    stop.abort(error);
  };
  // Runs that fail because the engine is dead are not data.
  const onGone = (): void => fail(gone.reason);
  gone.addEventListener('abort', onGone, { once: true });
  const explore = async (): Promise<void> => {
    try {
      if (point.catchUp) await synchronizer.exploreBoundary(stop.signal);
      await explorer.run(state);
      store.finish();
    } catch (error) {
      if (!isShutdown(error, interrupt, stop.signal)) fail(error);
    } finally {
      synchronizer.explorerStopped();
    }
  };
  const train = async (): Promise<TrainerResult | undefined> => {
    try {
      return await trainer.run(point.trainStep);
    } catch (error) {
      fail(error);
      return undefined;
    } finally {
      const ended = new CancelledError('The trainer has ended.', { reason: 'shutdown' });
      synchronizer.trainerStopped();
      stop.abort(ended);
      // An explorer that waits for room in the buffer would wait for ever.
      store.fail(ended);
    }
  };
  const [trained] = await Promise.all([train(), explore()]);
  gone.removeEventListener('abort', onGone);
  if (firstCause) throw firstCause;
  return { ...trained!, interrupted: trained!.interrupted || interrupt.aborted };
}

function isShutdown(error: unknown, ...signals: readonly AbortSignal[]): boolean {
  return error instanceof CancelledError && signals.some((signal) => signal.aborted);
}
