/** The trainer waiting for experiences: known to the synchronizer, and reported when it takes long. */
import type { ExperienceStore } from '@trinity-rft/core';
import type { StageContext } from '../context.js';

export interface Waiting {
  isWaiting(): boolean;
  set(waiting: boolean): void;
}

/** Says every `max_read_timeout` seconds what the trainer waits for. Who explores has deadlines of its own, so the wait itself has none. */
export function watchWaiting({ stage, runtime }: StageContext, store: ExperienceStore): Waiting {
  const { trainBatchSize, trainerInput } = stage.buffer;
  const { experienceBuffer } = trainerInput;
  const every = experienceBuffer.storageType === 'file' ? Infinity : experienceBuffer.maxReadTimeoutMs;
  let current: AbortController | undefined;

  const report = async (signal: AbortSignal): Promise<void> => {
    for (let waited = every; ; waited += every) {
      await runtime.clock.sleep(every, signal);
      const { waiting } = await store.counts();
      runtime.logger.warn(`The trainer has waited ${waited / 1000} s for experiences: ${waiting} of ${trainBatchSize} are there. Are the workflows still at work?`);
    }
  };

  return {
    isWaiting: () => current !== undefined,
    set: (waiting) => {
      current?.abort();
      current = waiting ? new AbortController() : undefined;
      // Ends by the abort.
      if (current && Number.isFinite(every)) report(current.signal).catch(() => undefined);
    },
  };
}
