/** The experience store of a stage. */
import {
  memoryExperienceStore,
  sqliteExperienceStore,
  sqliteExperienceWriter,
  type ExperienceWriter,
  type FollowOptions,
} from '@trinity-rft/buffer';
import { type ExperienceStore } from '@trinity-rft/core';
import { InvariantError } from '@trinity-rft/core/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { StageContext } from '../../context/stage-context.js';
import { reuseOf } from './reuse.js';

/** For writing only: another process trains on it. */
export function openExperienceWriter({ buffer }: StageConfig): ExperienceWriter {
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file' || config.path === undefined)
    throw new InvariantError('Only a database can be written by one process and read by another.', {
      code: 'STORE_KIND',
    });
  return sqliteExperienceWriter({ path: config.path });
}

/** @param path of the database, instead of the one in the configuration */
export function openExperienceStore(
  { stage, runtime }: Pick<StageContext, 'stage' | 'runtime'>,
  { path, followWriter }: { readonly path?: string; readonly followWriter?: FollowOptions } = {},
): ExperienceStore {
  const { mode, buffer, algorithm, synchronizer } = stage;
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file')
    throw new InvariantError('A file of supervised data cannot take experiences.', {
      code: 'STORE_KIND',
    });
  // In the fixed style, synchronization already bounds how much waits. If the explorer also waited
  // for room while the trainer waits for the explorer, neither would continue. A product must not
  // wait for training either.
  const unbounded = mode === 'serve' || synchronizer.syncStyle === 'fixed';
  // In explore steps in the configuration, in experiences in the store.
  const capacity = unbounded
    ? Infinity
    : config.capacity * buffer.batchSize * algorithm.repeatTimes;
  const file = path ?? config.path;
  const reuse = reuseOf(stage, runtime);
  return config.storage === 'memory' || file === undefined
    ? memoryExperienceStore({ capacity, reuse })
    : sqliteExperienceStore({
        path: file,
        capacity,
        reuse,
        followWriter,
        onNotice: (text) => runtime.logger.warn(text),
      });
}
