/** Helpers for `node:sqlite`. */

/** A `DatabaseSync`, or its like. */
interface Database {
  exec(sql: string): unknown;
}

/** Does all of `work` or, when it throws, none of it. */
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

/** After some errors (a full disk) SQLite has already rolled back: then ROLLBACK fails. */
function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // No transaction is open.
  }
}

/** A `StatementSync`, or its like. */
interface Statement<Parameter, Row> {
  iterate(...parameters: readonly Parameter[]): Iterable<Row>;
}

/**
 * The rows of a statement, one by one. In Node 22 an iterator does not keep its statement alive: it
 * fails with "statement has been finalized" when the garbage collector comes by.
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
