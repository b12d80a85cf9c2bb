/** Helpers for `node:sqlite`. */
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';

/**
 * Opens a database. Loads `node:sqlite` only when a database is opened, because Node 22 prints a
 * warning on loading.
 */
export function openSqlite(path: string, options: DatabaseSyncOptions = {}): DatabaseSync {
  const sqlite = process.getBuiltinModule('node:sqlite');
  return new sqlite.DatabaseSync(path, options);
}

/** A `DatabaseSync` or a compatible class. */
interface Database {
  exec(sql: string): unknown;
}

/** True for SQLITE_BUSY, with or without an extended code: another connection holds a lock. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5;

/**
 * Milliseconds for which switching to a write-ahead log is retried, and milliseconds between two
 * attempts.
 */
const [patienceMs, pauseMs] = [2000, 5];

/**
 * Switches a database to a write-ahead log. Retries, because the connection's timeout does not
 * cover every part of the switch: if two connections open a new database simultaneously, one of
 * them can fail without waiting.
 */
export function useWriteAheadLog(database: Database): void {
  const start = performance.now();
  for (;;)
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - start > patienceMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
}

/** Calls `work` in a transaction, which is rolled back if `work` throws. */
export function inTransaction<T>(database: Database, work: () => T): T {
  try {
    database.exec('BEGIN IMMEDIATE');
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/**
 * Rolls back. Ignores a failing ROLLBACK: after some errors, such as a full disk, SQLite has
 * already rolled back.
 */
function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // No transaction is open.
  }
}

/** A `StatementSync` or a compatible class. */
interface Statement<Parameter, Row> {
  iterate(...parameters: readonly Parameter[]): Iterable<Row>;
}

/**
 * Yields the rows of a statement, one by one, and keeps the statement alive. In Node 22 an iterator
 * does not keep its statement alive, and fails with "statement has been finalized" after a garbage
 * collection.
 */
export function* eachRow<Parameter, Row>(
  statement: Statement<Parameter, Row>,
  ...parameters: readonly Parameter[]
): Generator<Row, void> {
  const held = [statement];
  try {
    yield* statement.iterate(...parameters);
  } finally {
    held.pop();
  }
}
