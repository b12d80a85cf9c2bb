/** Reads the tables of a run store, to count rows by SQL. */
import { BufferError } from '../../packages/core/src/index.ts';
import { postgresDatabase } from '../../packages/buffer/src/run-store/database/postgres.ts';
import type {
  RunDatabase,
  Work,
} from '../../packages/buffer/src/run-store/database/run-database.ts';
import { sqliteDatabase } from '../../packages/buffer/src/run-store/database/sqlite.ts';
import { parseStoreUrl } from '../../packages/buffer/src/run-store/store-url.ts';

/**
 * Runs `work` on the tables and returns its result; undefined if no process has created the store
 * yet.
 */
export async function readStore<T>(url: string, work: Work<T>): Promise<T | undefined> {
  const database = await open(url).catch((error: unknown) => {
    if (error instanceof BufferError && error.code === 'STORE_MISSING') return undefined;
    throw error;
  });
  try {
    return await database?.read('count what a run has stored', work);
  } finally {
    await database?.close();
  }
}

function open(address: string): Promise<RunDatabase> {
  const where = parseStoreUrl(address);
  const isReader = true;
  return where.kind === 'sqlite'
    ? sqliteDatabase({ path: where.path, isReader })
    : postgresDatabase({ url: where.url, isReader });
}
