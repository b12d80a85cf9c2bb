/** Processes that fetch the same thing into the same cache do so one after the other. */
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@trinity-rft/core';

/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5;
const everyMs = 250;

export interface TurnOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Called once when another process is at it. */
  readonly onWait?: () => void;
}

/**
 * Next to the locks of `huggingface_hub`.
 * @param folder of the dataset or model in the cache
 */
export const lockIn = (folder: string, name: string): string =>
  join(dirname(folder), '.locks', basename(folder), `${name}.trinity-rft`);

/**
 * Does `work` under a lock. The lock is one of the operating system, on an empty database,
 * so it ends with the process that holds it.
 * @throws the reason of the signal when it aborts during the wait
 */
export async function oneAtATime<T>(
  lock: string,
  { clock, signal, onWait }: TurnOptions,
  work: () => Promise<T>,
): Promise<T> {
  let holder = await tryLock(lock);
  if (holder === 'busy') onWait?.();
  while (holder === 'busy') {
    await clock.sleep(everyMs, signal);
    holder = await tryLock(lock);
  }
  try {
    return await work();
  } finally {
    holder?.close();
  }
}

/** Undefined where the file system has no locks, or the cache cannot be written. */
async function tryLock(lock: string): Promise<DatabaseSync | 'busy' | undefined> {
  let holder: DatabaseSync | undefined;
  try {
    await mkdir(dirname(lock), { recursive: true });
    // Loaded lazily: Node 22 prints a warning when the module is loaded.
    const sqlite = process.getBuiltinModule('node:sqlite');
    holder = new sqlite.DatabaseSync(lock);
    holder.exec('BEGIN EXCLUSIVE');
    return holder;
  } catch (error) {
    holder?.close();
    return (error as { readonly errcode?: number }).errcode === busy ? 'busy' : undefined;
  }
}
