/** The experience store of a stage. */
import {
  memoryExperienceStore,
  sqliteExperienceStore,
  sqliteExperienceWriter,
  type ExperienceWriter,
  type FollowOptions,
} from '@trinity-rft/buffer';
import { InvariantError, type ExperienceStore } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';

/** For adding only: another process trains from it. */
export function openExperienceWriter({ buffer }: StageConfig): ExperienceWriter {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file' || config.path === undefined)
    throw new InvariantError(
      'Only a database can be written to by one process and read by another.',
      { code: 'STORE_KIND' },
    );
  return sqliteExperienceWriter({ path: config.path });
}

/**
 * `capacity` counts explore steps in the configuration and experiences in the store. `path`:
 * another database file than the configuration's.
 */
export function openExperienceStore(
  { mode, buffer, algorithm, synchronizer }: StageConfig,
  { path, followWriter }: { readonly path?: string; readonly followWriter?: FollowOptions } = {},
): ExperienceStore {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file')
    throw new InvariantError('A file of supervised data cannot take experiences.', {
      code: 'STORE_KIND',
    });
  // Where both sides meet at fixed steps, the meetings bound what waits. An explorer that waited
  // for room as well, while the trainer waits for it to arrive, would never arrive. A product does
  // not wait for training either.
  const unbounded = mode === 'serve' || synchronizer.syncStyle === 'fixed';
  const capacity = unbounded
    ? Infinity
    : config.capacity * buffer.batchSize * algorithm.repeatTimes;
  const file = path ?? config.path;
  return config.storage === 'memory' || file === undefined
    ? memoryExperienceStore({ capacity })
    : sqliteExperienceStore({ path: file, capacity, ...(followWriter && { followWriter }) });
}
