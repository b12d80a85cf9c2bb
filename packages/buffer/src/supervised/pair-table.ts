/**
 * Reads and writes pairs of responses in a database table, in which people choose the preferred
 * responses.
 */
import { TaskError } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { redactText } from '@trinity-rft/core/support';
import { inPostgres } from '../tasks/postgres-client.js';
import { quoted, readSqlRows } from '../tasks/sql-rows.js';
import type { AnswerPair } from './preference-pairs.js';

export interface PairTable {
  /** URL of the database: `sqlite:///file.db` or `postgresql://user:password@host/database`. */
  readonly url: string;
  /**
   * Name of a table with the columns `id`, `prompt`, `answer1`, `answer2` and `preferred` (1, 2 or
   * null).
   */
  readonly table: string;
}

/** Returns true if the text is the URL of a database, and false if it is the path of a file. */
export const isDatabase = (text: string): boolean => /^(?:sqlite|postgres(?:ql)?):\/\//.test(text);

/**
 * Reads the rows of the table, which can be passed to `chosenRows`.
 * @throws TaskError if the table cannot be read
 */
export const readPairTable = ({ url, table }: PairTable): Promise<readonly unknown[]> =>
  readSqlRows({ name: table, path: url, table });

/**
 * Adds pairs to the table, and creates the table if it does not exist. Keeps existing pairs and
 * their choices.
 * @returns number of pairs added
 * @throws TaskError if the table cannot be written
 */
export async function writePairTable(
  { url, table }: PairTable,
  pairs: readonly AnswerPair[],
): Promise<number> {
  try {
    return await (url.startsWith('sqlite:') ? intoSqlite : intoPostgres)(url, table, pairs);
  } catch (cause) {
    throw new TaskError(
      redactText(
        `Pairs cannot be written to table ${quoted(table)} of ${url}: ${(cause as Error).message}.`,
      ),
      { code: 'PAIRS_UNWRITABLE', cause },
    );
  }
}

const createTable = (table: string): string =>
  `CREATE TABLE IF NOT EXISTS ${quoted(table)} (id text PRIMARY KEY, prompt text NOT NULL, answer1 text NOT NULL, answer2 text NOT NULL, preferred integer CHECK (preferred IN (1, 2)))`;

const insertRow = (table: string, values: string): string =>
  `INSERT INTO ${quoted(table)} (id, prompt, answer1, answer2) VALUES (${values}) ON CONFLICT (id) DO NOTHING`;

const valuesOf = ({ id, prompt, answer1, answer2 }: AnswerPair): string[] => [
  id,
  prompt,
  answer1,
  answer2,
];

type Write = (url: string, table: string, pairs: readonly AnswerPair[]) => Promise<number>;

const intoSqlite: Write = async (url, table, pairs) => {
  const database = openSqlite(url.replace(/^sqlite:\/\/\//, ''));
  try {
    database.exec('PRAGMA busy_timeout = 60000');
    database.exec(createTable(table));
    database.exec('BEGIN IMMEDIATE');
    const insert = database.prepare(insertRow(table, '?, ?, ?, ?'));
    const added = pairs.map((pair) => Number(insert.run(...valuesOf(pair)).changes));
    database.exec('COMMIT');
    return sum(added);
  } finally {
    database.close();
  }
};

const intoPostgres: Write = (url, table, pairs) =>
  inPostgres(url, async (client) => {
    await client.query('BEGIN');
    await client.query(createTable(table));
    const added: number[] = [];
    for (const pair of pairs) {
      const { rowCount } = await client.query(insertRow(table, '$1, $2, $3, $4'), valuesOf(pair));
      added.push(rowCount ?? 0);
    }
    await client.query('COMMIT');
    return sum(added);
  });

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
