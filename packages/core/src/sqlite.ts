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
