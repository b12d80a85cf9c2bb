/** Ensures that only one process at a time fetches the same files into a cache. */
import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CancelledError } from '@trinity-rft/core';
import { lockFile } from '@trinity-rft/core/store';
import { waitingFor } from '@trinity-rft/core/support';
import { listFolder } from './hub-cache.js';
import type { DownloadOptions } from './stall-guard.js';

const everyMs = 250;
/**
 * Longest wait for another process without progress, as a multiple of the stall timeout. The other
 * process may stall several times, and computes digests of the files after it has fetched them.
 */
const stallsOfAnother = 10;

export interface Lock {
  /** Cache folder of the dataset or model. */
  readonly folder: string;
  readonly name: string;
  /** Description of the files that are fetched under the lock, for messages. */
  readonly what: string;
}

/**
 * Calls `work` while holding a lock. It is an operating-system lock on an empty database, so that
 * it is released when the process that holds it ends.
 * @throws CancelledError (`timeout`) if the process that holds the lock makes no progress for a
 * long time; the reason of the signal if the signal aborts during the wait
 */
export async function oneAtATime<T>(
  lock: Lock,
  options: DownloadOptions,
  work: () => Promise<T>,
): Promise<T> {
  // The file is next to the locks of huggingface_hub.
  const { folder, name } = lock;
  const file = join(dirname(folder), '.locks', basename(folder), `${name}.trinity-rft`);
  const first = await tryLock(file);
  const holder = first === 'busy' ? await waitForLock(file, lock, options) : first;
  try {
    return await work();
  } finally {
    holder?.close();
  }
}

function waitForLock(
  file: string,
  { folder, what: fetched }: Lock,
  { clock, signal, stallMs, report }: DownloadOptions,
): Promise<DatabaseSync | undefined> {
  const what = `another process that fetches ${fetched}`;
  const deadlineMs = stallsOfAnother * stallMs;
  return waitingFor({ clock, logger: { info: report, warn: report } }, { what }, async () => {
    let [bytes, since] = [await bytesIn(folder), clock.now()];
    for (;;) {
      await clock.sleep(everyMs, signal);
      const holder = await tryLock(file);
      if (holder !== 'busy') return holder;
      if (clock.now() - since < deadlineMs) continue;
      const now = await bytesIn(folder);
      if (now === bytes)
        throw new CancelledError(
          `Another process fetches ${fetched} into ${folder}, and has brought nothing for ${deadlineMs / 1000} s. End that process, and try again.`,
          { code: 'DOWNLOAD_STALLED', reason: 'timeout' },
        );
      [bytes, since] = [now, clock.now()];
    }
  });
}

async function bytesIn(folder: string): Promise<number> {
  const paths = await listFolder(folder);
  const sizes = paths.map((path) =>
    stat(join(folder, path)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/**
 * Tries to take the lock. Returns `busy` if another process holds it. Returns undefined if the file
 * system has no locks or the cache is not writable, in which case work continues without a lock.
 */
async function tryLock(lock: string): Promise<DatabaseSync | 'busy' | undefined> {
  try {
    await mkdir(dirname(lock), { recursive: true });
    return lockFile(lock, 0) ?? 'busy';
  } catch {
    return undefined;
  }
}
