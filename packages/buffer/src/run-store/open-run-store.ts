/** Opens the store of a run, wherever it is. */
import type { RunStore } from '@trinity-rft/core/store';
import type { RunDatabase } from './database/run-database.js';
import { postgresDatabase } from './database/postgres.js';
import { memoryDatabase, sqliteDatabase } from './database/sqlite.js';
import { runStore, runView, type RunStoreOptions } from './run/run-store.js';
import { parseStoreUrl } from './store-url.js';

export interface OpenRunStoreOptions extends RunStoreOptions {
  /** `sqlite:///relative.db`, `sqlite:////absolute.db`, or a path; `postgresql://user:password@host:port/database`. */
  readonly url: string;
  /**
   * How long a call tries again while the database cannot be had: PostgreSQL cannot be reached, or
   * another process keeps the file of SQLite. @default 60_000 for PostgreSQL, 300_000 for SQLite
   */
  readonly patienceMs?: number;
  /** Told when the database cannot be had, and when it can again. */
  readonly onNotice?: (text: string) => void;
  /** The process is to stop: a database that cannot be had is not tried again. @default never */
  readonly stop?: AbortSignal;
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

/** A run as those see it who only look at it. */
export type RunReader = Pick<RunStore, 'view' | 'close'>;

/**
 * Opens the store of a run to look at it: nothing is created or changed, and a process that keeps
 * the database locked does not hold it up. Undefined when the database does not know the run.
 * @throws BufferError when there is no such store, or another program's
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

/** A store in memory that a simulation shares among processes that it plays. */
interface SharedRunStore {
  /** The store as one process sees it, with that process's clock. */
  readonly open: (options: RunStoreOptions) => Promise<RunStore>;
  readonly close: () => Promise<void>;
}

/** @param leaseClock milliseconds, on the clock that leases are measured on */
export async function memoryRunStore(leaseClock: () => number): Promise<SharedRunStore> {
  const database = await memoryDatabase(leaseClock);
  return { open: (options) => runStore(database, options), close: database.close };
}
