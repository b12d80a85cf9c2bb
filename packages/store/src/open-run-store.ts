/** Opens the store of a run, wherever it is. */
import type { RunStore } from '@trinity-rft/core/internal';
import type { RunDatabase } from './database/run-database.js';
import { memoryDatabase, sqliteDatabase } from './database/sqlite.js';
import { runStore, type RunStoreOptions } from './run/run-store.js';
import { parseStoreUrl } from './store-url.js';

export interface OpenRunStoreOptions extends RunStoreOptions {
  /** `sqlite:///path/of/run.db`, or the path itself. */
  readonly url: string;
  /** False: a store that does not exist is an error, for those who only look. @default true */
  readonly create?: boolean;
}

/**
 * @throws BufferError when it cannot be opened, is another program's, or from a newer version; the
 * message never holds a password
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

function openDatabase({ url, create }: OpenRunStoreOptions): Promise<RunDatabase> {
  const { path } = parseStoreUrl(url);
  return sqliteDatabase({ path, create });
}

/** A store in memory that a simulation shares among processes that it plays. */
export interface SharedRunStore {
  /** The store as one process sees it, with that process's clock. */
  open(options: RunStoreOptions): Promise<RunStore>;
  close(): Promise<void>;
}

/** @param leaseClock milliseconds, on the clock that leases are measured on */
export async function memoryRunStore(leaseClock: () => number): Promise<SharedRunStore> {
  const database = await memoryDatabase(leaseClock);
  return { open: (options) => runStore(database, options), close: database.close };
}
