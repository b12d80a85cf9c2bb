/**
 * Finds the experience database of an earlier training run, and copies it, so that a new training
 * run can use it without changing the original.
 */
import { existsSync } from 'node:fs';
import { mkdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { copyUnused } from '@trinity-rft/buffer/internal';
import { describeError, BufferError } from '@trinity-rft/core';
import { fillFile } from '@trinity-rft/core/support';
import { isWithin } from './run-id.js';

/**
 * Returns the path of the database to open. Training records its steps in the database, so the
 * database of another training run is copied into `jobDirectory` first, without the steps of that
 * run. A training run that has begun uses its existing copy again.
 * @throws BufferError when the copy cannot be made
 */
export async function ownDatabase(
  database: string,
  jobDirectory: string,
  hasBegun: boolean,
): Promise<string> {
  if (isWithin(jobDirectory, database)) return database;
  const copy = path.join(jobDirectory, 'buffer', path.basename(database));
  if (hasBegun && existsSync(copy)) return copy;
  // A link may lead into the folder of the run.
  if ((await realPathOf(copy)) === (await realPathOf(database))) return copy;
  try {
    await mkdir(path.dirname(copy), { recursive: true });
    await fillFile(copy, async (draft) => {
      await rm(draft, { force: true });
      copyUnused(database, draft);
      // SQLite would apply the log of an earlier copy to the new one.
      for (const log of ['-wal', '-shm']) await rm(`${copy}${log}`, { force: true });
    });
    return copy;
  } catch (cause) {
    throw new BufferError(
      `The experiences in ${database} could not be copied to ${copy}: ${describeError(cause)}. Expected the database of an earlier run, and disk space for a copy.`,
      { code: 'BUFFER_COPY', cause },
    );
  }
}

const realPathOf = (file: string): Promise<string> => realpath(file).catch(() => file);
