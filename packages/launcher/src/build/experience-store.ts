/** The experience store of a stage. */
import { memoryExperienceStore, sqliteExperienceStore } from '@trinity-rft/buffer';
import { InvariantError, type ExperienceStore } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';

/** `capacity` counts explore steps in the configuration and experiences in the store. */
export function openExperienceStore({ buffer, algorithm }: StageConfig): ExperienceStore {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file') throw new InvariantError('A file of supervised data cannot take experiences.', { code: 'STORE_KIND' });
  const capacity = config.capacity * buffer.batchSize * algorithm.repeatTimes;
  return config.storage === 'memory' || config.path === undefined ? memoryExperienceStore({ capacity }) : sqliteExperienceStore({ path: config.path, capacity });
}
