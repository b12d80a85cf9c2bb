/** Adapts `node:sqlite` to the interface that kysely's SQLite dialect expects. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';

/**
 * Maximum number of prepared statements that are kept. Without a limit, statements with lists of
 * varying length would accumulate.
 */
const keptStatements = 128;

export function sqliteAdapter(database: DatabaseSync): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare: (sql) => {
      const known = kept.get(sql);
      if (known) return known;
      const statement = adapt(database.prepare(sql));
      if (kept.size >= keptStatements) kept.clear();
      kept.set(sql, statement);
      return statement;
    },
  };
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    // Node 22.13 has no `columns()`. `all()` also executes statements that return no rows.
    reader: true,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  };
}
