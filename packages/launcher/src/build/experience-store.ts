/** The experience store of a stage. */
import { memoryExperienceStore, sqliteExperienceStore } from '@trinity-rft/buffer';
import { InvariantError, type ExperienceStore } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';

/** `capacity` counts explore steps in the configuration and experiences in the store. @param path another database file than the configuration's */
export function openExperienceStore({ buffer, algorithm }: StageConfig, path?: string): ExperienceStore {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file') throw new InvariantError('A file of supervised data cannot take experiences.', { code: 'STORE_KIND' });
  const capacity = config.capacity * buffer.batchSize * algorithm.repeatTimes;
  const file = path ?? config.path;
  return config.storage === 'memory' || file === undefined
    ? memoryExperienceStore({ capacity })
    : sqliteExperienceStore({ path: file, capacity });
}
