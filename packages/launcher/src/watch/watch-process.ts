/** Reports the waits and the progress of a synchronizer in `status.json`. */
import type { OnPause } from '@trinity-rft/explorer/internal';
import type { Synchronizer } from '@trinity-rft/synchronizer';
import { openProcessFile } from './process-file.js';

type Streaming = NonNullable<Synchronizer['streaming']>;

/**
 * Wraps a synchronizer so that `status.json` shows its waits.
 * @param policyVersion returns the version of the sampler's weights
 */
export type WatchSynchronizer = (
  synchronizer: Synchronizer,
  policyVersion: () => number,
) => Synchronizer;

export interface ProcessWatch {
  readonly watch: WatchSynchronizer;
  readonly onPause: OnPause;
  close(): void;
}

/** Starts to write `status.json` for a process that explores and trains. */
export function watchProcess(jobDirectory: string): ProcessWatch {
  const progress = { exploreStep: 0, trainStep: 0 };
  let version = (): number => 0;
  const file = openProcessFile(jobDirectory, () => ({ ...progress, version: version() }));
  let endWait: (() => void) | undefined;
  const untilTurn = <T>(step: number, turn: Promise<T>): Promise<T> => {
    const what = `its turn after explore step ${step}`;
    return turn.finally(file.wait('explorer', { what, on: 'trainer' }));
  };
  const watchStreaming = (inner: Streaming): Streaming => ({
    ...inner,
    whenItMay: (step, signal) => {
      const turn = inner.whenItMay(step, signal);
      // The explorer does not wait for the trainer while an earlier step is in progress.
      return step === progress.exploreStep + 1 ? untilTurn(step - 1, turn) : turn;
    },
  });
  const watch: WatchSynchronizer = (inner, policyVersion) => {
    version = policyVersion;
    return {
      ...inner,
      start: async (at) => {
        progress.exploreStep = at.storedUpTo ?? 0;
        progress.trainStep = at.trainStep;
        await inner.start(at);
      },
      exploreBoundary: (step, signal) => untilTurn(step, inner.exploreBoundary(step, signal)),
      streaming: inner.streaming && watchStreaming(inner.streaming),
      exploreStepStored: (step) => {
        progress.exploreStep = step;
        inner.exploreStepStored(step);
      },
      trainStepDone: async (step, signal) => {
        progress.trainStep = step;
        await inner.trainStepDone(step, signal);
      },
      setTrainerWaiting: (waiting) => {
        endWait?.();
        const what = `experiences for train step ${progress.trainStep + 1}`;
        endWait = waiting ? file.wait('trainer', { what, on: 'explorer' }) : undefined;
        inner.setTrainerWaiting(waiting);
      },
    };
  };
  return {
    watch,
    onPause: (what) => file.wait('explorer', { what, on: undefined }),
    close: () => file.close(),
  };
}
