/** Opens the store of a training run by its URL. */
import type { RunStore } from '@trinity-rft/core/store';
import type { Patience, RunDatabase } from './database/run-database.js';
import { postgresDatabase } from './database/postgres.js';
import { memoryDatabase, sqliteDatabase } from './database/sqlite.js';
import { runStore, runView, type RunStoreOptions } from './run/run-store.js';
import { parseStoreUrl } from './store-url.js';

export interface OpenRunStoreOptions extends RunStoreOptions, Patience {
  /**
   * URL of the store: `sqlite:///relative.db`, `sqlite:////absolute.db`, a path, or
   * `postgresql://user:password@host:port/database`.
   */
  readonly url: string;
}

/**
 * Opens a run store, and creates the tables and the training run if they do not exist.
 * @throws BufferError if the store cannot be opened, belongs to another program, or is from a newer
 * version; the message never contains a password
 */
export async function openRunStore(options: OpenRunStoreOptions): Promise<RunStore> {
  const database = await openDatabase(options);
  try {
    return await runStore(database, options, database.close);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Read-only access to a training run. */
export type RunReader = Pick<RunStore, 'view' | 'close'>;

/**
 * Opens the store of a training run for reading. Does not create or change the database. Locks of
 * other processes do not delay reads. Returns undefined if the database does not contain the
 * training run.
 * @throws BufferError if the store does not exist or belongs to another program
 */
export async function readRunStore(options: OpenRunStoreOptions): Promise<RunReader | undefined> {
  const database = await openDatabase(options, { isReader: true });
  const run = await runView(database, options).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  if (run) return { ...run, close: database.close };
  await database.close();
  return undefined;
}

function openDatabase(
  { url, patienceMs, onNotice, stop }: OpenRunStoreOptions,
  { isReader = false } = {},
): Promise<RunDatabase> {
  const where = parseStoreUrl(url);
  const options = { isReader, patienceMs, onNotice, stop };
  return where.kind === 'sqlite'
    ? sqliteDatabase({ ...options, path: where.path })
    : postgresDatabase({ ...options, url: where.url });
}

/** A store in memory that simulated processes share. */
interface SharedRunStore {
  /** Opens the store for one process, with that process's clock. */
  readonly open: (options: RunStoreOptions) => Promise<RunStore>;
  readonly close: () => Promise<void>;
}

/**
 * Creates a store in memory.
 * @param leaseClock returns the current time in milliseconds, by which leases expire
 */
export async function memoryRunStore(leaseClock: () => number): Promise<SharedRunStore> {
  const database = await memoryDatabase(leaseClock);
  return { open: (options) => runStore(database, options), close: database.close };
}
