/** Reports the waits and the progress of a synchronizer in `status.json`. */
import type { OnPause } from '@trinity-rft/explorer/internal';
import type { Synchronizer } from '@trinity-rft/synchronizer';
import { openProcessFile } from './process-file.js';

export interface ProcessWatch {
  /** Wraps a synchronizer so that `status.json` shows its waits. */
  readonly watch: (synchronizer: Synchronizer) => Synchronizer;
  readonly onPause: OnPause;
  close(): void;
}

/** Opens `status.json` for an operating-system process that explores and trains. */
export function watchProcess(jobDirectory: string): ProcessWatch {
  const progress = { exploreStep: 0, trainStep: 0, version: 0 };
  const file = openProcessFile(jobDirectory, () => progress);
  let endWait: (() => void) | undefined;
  return {
    watch: (inner) => ({
      ...inner,
      start: async (at) => {
        progress.exploreStep = at.storedUpTo ?? 0;
        progress.trainStep = at.trainStep;
        progress.version = at.explorerVersion;
        await inner.start(at);
      },
      exploreBoundary: async (step, signal) => {
        const what = `its turn after explore step ${step}`;
        const end = file.wait('explorer', { what, on: 'trainer' });
        try {
          const result = await inner.exploreBoundary(step, signal);
          progress.version = result.version;
          return result;
        } finally {
          end();
        }
      },
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
    }),
    onPause: (what) => file.wait('explorer', { what, on: undefined }),
    close: () => file.close(),
  };
}
