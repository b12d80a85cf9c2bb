/** Opens the store of a run, wherever it is. */
import type { RunStore } from '@trinity-rft/core/internal';
import type { RunDatabase } from './database/run-database.js';
import { postgresDatabase } from './database/postgres.js';
import { memoryDatabase, sqliteDatabase } from './database/sqlite.js';
import { runStore, type RunStoreOptions } from './run/run-store.js';
import { parseStoreUrl } from './store-url.js';

export interface OpenRunStoreOptions extends RunStoreOptions {
  /** `sqlite:///relative.db`, `sqlite:////absolute.db`, or a path; `postgresql://user:password@host:port/database`. */
  readonly url: string;
  /** False: a store that does not exist is an error, for those who only look. @default true */
  readonly create?: boolean;
  /** PostgreSQL: how long a call tries again while the server cannot be reached. @default 60_000 */
  readonly patienceMs?: number;
  /** Told when the server cannot be reached, and when it can again. */
  readonly onNotice?: (text: string) => void;
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

function openDatabase(options: OpenRunStoreOptions): Promise<RunDatabase> {
  const { create, patienceMs, onNotice } = options;
  const where = parseStoreUrl(options.url);
  if (where.kind === 'sqlite') return sqliteDatabase({ path: where.path, create });
  return postgresDatabase({ url: where.url, patienceMs, onNotice });
}

/** A store in memory that a simulation shares among processes that it plays. */
export interface SharedRunStore {
  /** The store as one process sees it, with that process's clock. */
  readonly open: (options: RunStoreOptions) => Promise<RunStore>;
  readonly close: () => Promise<void>;
}

/** @param leaseClock milliseconds, on the clock that leases are measured on */
export async function memoryRunStore(leaseClock: () => number): Promise<SharedRunStore> {
  const database = await memoryDatabase(leaseClock);
  return { open: (options) => runStore(database, options), close: database.close };
}
