/** Reads tasks from a table or a query result of SQLite or PostgreSQL. */
import { existsSync } from 'node:fs';
import { type RawTask, TaskError } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { parseJsonExactly, redactText } from '@trinity-rft/core/support';
import { plainValue } from '../files/plain-value.js';
import { inPostgres } from './postgres-client.js';

export interface SqlRowsOptions {
  /**
   * Name of the task set, used in messages. If neither `table` nor `query` is set, it is also the
   * name of the table.
   */
  readonly name: string;
  /** Path of an SQLite file, `sqlite:///file.db`, or `postgresql://user:password@host/database`. */
  readonly path: string;
  /** Table whose rows are read in the order of their column `id`. */
  readonly table?: string;
  /** Query to use instead of a table. The query must order its rows. */
  readonly query?: string;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Reads rows as objects whose keys are the names of the columns. If there is a column `raw_task`,
 * as in Trinity-RFT, each row is the JSON in that column instead.
 * @throws TaskError if the rows cannot be read, or a `raw_task` is not a JSON object
 */
export async function readSqlRows(options: SqlRowsOptions): Promise<readonly RawTask[]> {
  const { name, path, table = name, query } = options;
  const sql = query ?? `SELECT * FROM ${quoted(table)} ORDER BY id`;
  const read = isPostgres(path) ? readPostgres : readSqlite;
  const rows = await read(path, sql, name).catch((cause: unknown) => {
    throw TaskError.is(cause) ? cause : unreadable(options, sql, cause);
  });
  return rows.map((row, number) => rawTaskOf(row, number, options));
}

const isPostgres = (path: string): boolean => /^postgres(?:ql)?:\/\//.test(path);

export const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

async function readSqlite(path: string, sql: string, name: string): Promise<readonly Row[]> {
  const file = path.replace(/^sqlite:\/\/\//, '');
  if (!existsSync(file))
    throw new TaskError(
      `Task set "${name}": there is no ${file}. Expected a database of SQLite, sqlite:///file.db.`,
      { code: 'TASKSET_MISSING', details: { path: file } },
    );
  const database = openSqlite(file, { readOnly: true });
  try {
    const statement = database.prepare(sql);
    // Without this setting, an integer beyond 2^53 would be an error.
    statement.setReadBigInts(true);
    // SQLite ignores what follows the first statement.
    const rest = sql
      .slice(statement.sourceSQL.length)
      .replaceAll(/--.*|\/\*[\s\S]*?\*\/|[\s;]/g, '');
    if (rest !== '') throw severalStatements(name, sql);
    return statement.all();
  } finally {
    database.close();
  }
}

const readPostgres = (url: string, sql: string, name: string): Promise<readonly Row[]> =>
  inPostgres(url, async (client) => {
    await client.query('BEGIN TRANSACTION READ ONLY; SET LOCAL DateStyle = ISO');
    const result = await client.query<Record<string, unknown>>(sql);
    if (Array.isArray(result)) throw severalStatements(name, sql);
    return result.rows;
  });

const severalStatements = (name: string, sql: string): TaskError =>
  new TaskError(
    `Task set "${name}": its query holds more than one statement: ${sql}. Give one SELECT.`,
    { code: 'TASKSET_QUERY' },
  );

function rawTaskOf(row: Row, number: number, { name, path }: SqlRowsOptions): RawTask {
  const plain = plainValue(row) as RawTask;
  if (!('raw_task' in plain)) return plain;
  const { raw_task: task } = plain;
  const value = typeof task === 'string' ? parsed(task) : task;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RawTask;
  throw new TaskError(
    `Row ${number} of task set "${name}" (${redactText(path)}): its column raw_task holds no JSON object.`,
    { code: 'TASKSET_ROW' },
  );
}

function parsed(text: string): unknown {
  try {
    return parseJsonExactly(text);
  } catch {
    return undefined;
  }
}

function unreadable({ name, path, query }: SqlRowsOptions, sql: string, cause: unknown): TaskError {
  const fix =
    query === undefined
      ? 'A table needs a column id, by which its rows are ordered; otherwise give a query with ORDER BY.'
      : 'Correct the query.';
  return new TaskError(
    redactText(
      `Task set "${name}" (${path}) cannot be read: ${(cause as Error).message}, in ${sql}. ${fix}`,
    ),
    { code: 'TASKSET_UNREADABLE', cause },
  );
}
