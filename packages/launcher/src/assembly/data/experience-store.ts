/** Opens the experience store of a stage. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import {
  memoryExperienceStore,
  sqliteExperienceStore,
  sqliteExperienceWriter,
} from '@trinity-rft/buffer';
import { leaseStore } from '@trinity-rft/buffer/driver';
import {
  type ExperienceWriter,
  type FollowOptions,
  type StoreOwner,
} from '@trinity-rft/buffer/internal';
import { lateRewardsBeside } from '@trinity-rft/buffer/late-rewards';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, InvariantError, type Runtime } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { Extensions } from '../../context/stage-context.js';
import { isWithin, readRunId, runIdOf } from './run-id.js';
import { reuseOf } from './reuse.js';

/**
 * Returns the identity of the training run, which is recorded as the owner of a database outside of
 * its folder. Returns undefined for a database inside the folder, and in mode `train`.
 */
async function ownerOf(
  { jobDirectory, mode }: StageConfig,
  database: string,
  hasBegun: boolean,
): Promise<StoreOwner | undefined> {
  if (mode === 'train' || isWithin(jobDirectory, database)) return undefined;
  const id = await runIdOf(jobDirectory);
  const isAt = (folder: string, of: string): boolean => readRunId(folder) === of;
  return { id, folder: await realpath(jobDirectory), hasBegun, isAt };
}

/** Opens the store for writing only, because another process trains on its experiences. */
export async function openExperienceWriter(
  stage: StageConfig,
  openRows: Extensions['openRows'],
): Promise<ExperienceWriter> {
  const config = stage.buffer.trainerInput.experienceBuffer;
  if (openRows) throw ownRowsError(stage.mode);
  if (config.storageType === 'file' || config.path === undefined)
    throw new InvariantError('Only a database can be written by one process and read by another.', {
      code: 'STORE_KIND',
    });
  // `hasBegun` is true, because a server may add to an existing store, unless the store is known to
  // belong to another training run.
  const owner = await ownerOf(stage, config.path, true);
  return sqliteExperienceWriter({ path: config.path, owner });
}

interface StoreOptions extends Pick<Extensions, 'openRows'> {
  /** True if an earlier process has started the steps of the stage. @default false */
  readonly hasBegun?: boolean;
  /** Path of the database. @default the path in the configuration */
  readonly path?: string;
  readonly followWriter?: FollowOptions;
}

export async function openExperienceStore(
  stage: StageConfig,
  runtime: Runtime,
  { openRows, hasBegun = false, path, followWriter }: StoreOptions,
): Promise<ExperienceStore> {
  const { mode, buffer, algorithm, synchronizer } = stage;
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType === 'file')
    throw new InvariantError('A file of supervised data cannot take experiences.', {
      code: 'STORE_KIND',
    });
  // The fixed style already limits the number of waiting experiences. If the explorer also waited
  // for room in the store while the trainer waits for the explorer, neither would continue. In mode
  // `serve`, clients must not wait for training either.
  const unbounded = mode === 'serve' || synchronizer.syncStyle === 'fixed';
  // The configuration states the capacity in explore steps; the store expects it in experiences.
  const capacity = unbounded
    ? Infinity
    : config.capacity * buffer.batchSize * algorithm.repeatTimes;
  const file = path ?? config.path;
  // Late rewards are stored on disk even if the experiences are in memory.
  const database = file ?? join(stage.jobDirectory, 'buffer', 'memory');
  const folder = isWithin(stage.jobDirectory, database) ? 'run' : 'shared';
  const lateRewards = lateRewardsBeside(database, folder);
  const options = { capacity, reuse: reuseOf(stage, runtime), lateRewards };
  if (config.storage === 'memory' || file === undefined) return memoryExperienceStore(options);
  if (openRows) {
    if (followWriter) throw ownRowsError(mode);
    return leaseStore(openRows(file), options);
  }
  return sqliteExperienceStore({
    ...options,
    path: file,
    followWriter,
    owner: await ownerOf(stage, file, hasBegun),
    onNotice: (text) => runtime.logger.warn(text),
  });
}

const ownRowsError = (mode: string): ConfigError =>
  new ConfigError(
    `run({ openRows }) keeps experiences outside of SQLite, and mode: ${mode} trains on what another process adds, which only SQLite and PostgreSQL can hold. Use mode: both or serve, or leave openRows out.`,
    { code: 'STORE_KIND' },
  );
