/**
 * SQLite tables that detect damage. Each row has a checksum. The database stores the number of rows
 * of each table and the number of commits. A file next to the database repeats the number of
 * commits, because SQLite ends recovery at the first damaged frame of a write-ahead log and drops
 * the later commits without an error.
 *
 * Temporary triggers update checksums and row counts after every statement of this connection.
 * {@link CheckedTables.transaction} counts the commits.
 */
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { BufferError } from './errors.js';
import { inTransaction } from './sqlite.js';

export interface CheckedTablesOptions {
  readonly path: string;
  /** Names of the tables, each of which must have a primary key. */
  readonly tables: readonly string[];
  /**
   * SQL statements that migrate a database. They are executed in the transaction that adds the
   * checksums.
   */
  readonly upgrade?: string;
}

export interface CheckedTables {
  /**
   * Calls `work` in a transaction, which is rolled back if `work` throws. All writes must be made
   * in such transactions.
   */
  readonly transaction: <T>(work: () => T) => T;
  /**
   * Returns an SQL expression that is 1 for rows that match their checksum.
   * @param alias name of the table in the statement. @default the name of the table itself
   */
  readonly isWhole: (table: string, alias?: string) => string;
  /** Returns an SQL expression for the number of rows of a table, which is not counted again. */
  readonly rowCount: (table: string) => string;
  /**
   * Adds checksums to rows that another program has inserted. Call it within a transaction.
   * @returns number of rows that got a checksum
   */
  readonly adopt: (table: string) => number;
  /**
   * Verifies the checksums of all rows, at about a second per gigabyte.
   * @param open tables to which other programs add rows; their rows without a checksum are
   * accepted. @default no tables
   * @throws BufferError that says what is damaged or missing
   */
  readonly verify: (open?: readonly string[]) => void;
}

const commitsFile = (path: string): string => `${path}-commits`;

/**
 * Returns true if the database was stored before: if its file, or the file with its number of
 * commits, exists.
 */
export const hasBeenStored = (path: string): boolean =>
  existsSync(path) || existsSync(commitsFile(path));

/** Prepares a connection for checked tables. Adds checksums to a database that has none yet. */
export function checkedTables(
  database: DatabaseSync,
  { path, tables, upgrade = '' }: CheckedTablesOptions,
): CheckedTables {
  const options = { varargs: true, deterministic: true, useBigIntArguments: true };
  database.function('row_checksum', options, rowChecksum);
  if (!tableNames(database).includes(numbers))
    inTransaction(database, () => {
      if (!tableNames(database).includes(numbers)) addChecksums(database, tables, upgrade);
    });
  for (const table of [...tables, numbers]) createTriggers(database, table);
  const changes = database.prepare('SELECT total_changes() AS count');
  const count = database.prepare(
    `UPDATE ${numbers} SET value = value + 1 WHERE name = 'commits' RETURNING value`,
  );
  const add = database.prepare(`UPDATE ${numbers} SET value = value + ? WHERE name = ?`);
  const damaged = (what: string): BufferError => damagedDatabase(path, what);
  return {
    transaction: (work) => {
      let commits: number | undefined;
      const result = inTransaction(database, () => {
        const before = changes.get()?.['count'];
        const done = work();
        if (changes.get()?.['count'] !== before) commits = Number(count.get()?.['value']);
        return done;
      });
      // The file is written after the commit: a power failure may leave a smaller number, never a
      // larger one.
      if (commits !== undefined) writeCommits(path, commits);
      return result;
    },
    isWhole: (table, alias = table) =>
      `${alias}.checksum IS row_checksum(${columnsOf(database, table, alias)})`,
    rowCount: (table) => `(SELECT value FROM ${numbers} WHERE name = '${table}')`,
    adopt: (table) => {
      const { changes: added } = database
        .prepare(
          `UPDATE ${table} SET checksum = row_checksum(${columnsOf(database, table, table)}) WHERE checksum IS NULL`,
        )
        .run();
      if (added !== 0) add.run(added, table);
      return Number(added);
    },
    verify: (open = []) => {
      const confirmed = readCommits(path, damaged);
      database.exec('BEGIN');
      try {
        assertIntact(database, damaged);
        for (const table of [numbers, ...tables])
          assertRows(database, table, { damaged, isOpen: open.includes(table) });
        const commits = numberOf(database, 'commits') ?? 0;
        if (commits < confirmed) throw lostCommits(path, confirmed - commits, confirmed);
      } finally {
        database.exec('ROLLBACK');
      }
    },
  };
}

/**
 * Checks the pages and indices of a database, at about half a second per gigabyte.
 * @throws BufferError when pages or indices are damaged
 */
export function assertIntact(database: DatabaseSync, damaged: (what: string) => BufferError): void {
  const { integrity_check: found } = database.prepare('PRAGMA integrity_check(1)').get() ?? {};
  if (found !== 'ok') throw damaged(`SQLite finds: ${String(found)}`);
}

/** Table that holds the number of rows of each table and the number of commits. */
const numbers = 'stored_number';

function addChecksums(database: DatabaseSync, tables: readonly string[], upgrade: string): void {
  database.exec(upgrade);
  database.exec(
    `CREATE TABLE ${numbers} (name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER) WITHOUT ROWID`,
  );
  for (const table of tables) {
    database.exec(`ALTER TABLE ${table} ADD COLUMN checksum INTEGER`);
    database.exec(
      `UPDATE ${table} SET checksum = row_checksum(${columnsOf(database, table, table)})`,
    );
    database.exec(`INSERT INTO ${numbers} (name, value) SELECT '${table}', count(*) FROM ${table}`);
  }
  database.exec(`INSERT INTO ${numbers} (name, value) VALUES ('commits', 0)`);
  database.exec(`UPDATE ${numbers} SET checksum = row_checksum(name, value)`);
}

const tableNames = (database: DatabaseSync): readonly unknown[] =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => name);

function createTriggers(database: DatabaseSync, table: string): void {
  const info = database.prepare(`PRAGMA table_info(${table})`).all();
  const ofRow = info
    .filter(({ pk }) => Number(pk) > 0)
    .map(({ name }) => `${String(name)} = NEW.${String(name)}`);
  const sum = `UPDATE ${table} SET checksum = row_checksum(${columnsOf(database, table, 'NEW')}) WHERE ${ofRow.join(' AND ')};`;
  const add = (rows: number): string =>
    table === numbers
      ? ''
      : `UPDATE ${numbers} SET value = value + ${rows} WHERE name = '${table}';`;
  const names = columnsOf(database, table, '');
  database.exec(`
    CREATE TEMP TRIGGER ${table}_added AFTER INSERT ON main.${table} BEGIN ${sum} ${add(1)} END;
    CREATE TEMP TRIGGER ${table}_changed AFTER UPDATE OF ${names} ON main.${table} BEGIN ${sum} END;`);
  if (table !== numbers)
    database.exec(
      `CREATE TEMP TRIGGER ${table}_removed AFTER DELETE ON main.${table} BEGIN ${add(-1)} END;`,
    );
}

/** Lists the columns of a table except the checksum, for SQL. */
const columnsOf = (database: DatabaseSync, table: string, of: string): string =>
  database
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => name !== 'checksum')
    .map((name) => (of === '' ? name : `${of}.${name}`))
    .join(', ');

/**
 * Returns the checksum of a row. The checksum includes the type and the length of each value, so
 * that different rows never consist of the same bytes.
 */
function rowChecksum(...values: readonly SQLInputValue[]): number {
  let checksum = 0;
  for (const value of values) {
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      checksum = crc32(`bytes ${byteLength}`, checksum);
      checksum = crc32(new Uint8Array(buffer, byteOffset, byteLength), checksum);
    } else {
      const text = String(value);
      checksum = crc32(`${typeof value} ${text.length} ${text}`, checksum);
    }
  }
  return checksum;
}

const numberOf = (database: DatabaseSync, name: string): number | undefined => {
  const row = database.prepare(`SELECT value FROM ${numbers} WHERE name = ?`).get(name);
  return row && Number(row['value']);
};

function assertRows(
  database: DatabaseSync,
  table: string,
  { damaged, isOpen }: { damaged: (what: string) => BufferError; isOpen: boolean },
): void {
  const isWhole = `checksum IS row_checksum(${columnsOf(database, table, table)})`;
  const { rows, checked, whole } =
    database
      .prepare(
        `SELECT count(*) AS rows, count(checksum) AS checked, count(*) FILTER (WHERE ${isWhole}) AS whole FROM ${table} NOT INDEXED`,
      )
      .get() ?? {};
  const counted = isOpen ? checked : rows;
  if (counted !== whole) {
    const changed = Number(counted) - Number(whole);
    throw damaged(`${changed} of ${Number(rows)} rows of its table ${table} have been changed`);
  }
  if (table === numbers) return;
  const stored = numberOf(database, table);
  if (stored !== counted)
    throw damaged(
      `its table ${table} has ${Number(counted)} rows, and ${stored ?? 'an unknown number'} were stored`,
    );
}

const commitsLength = 32;

/** Writes the number of commits and its checksum in one write of fixed length. */
function writeCommits(path: string, commits: number): void {
  const file = openSync(commitsFile(path), constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(file, `${commits} ${crc32(String(commits))}`.padEnd(commitsLength - 1) + '\n', 0);
  } finally {
    closeSync(file);
  }
}

/**
 * Reads the number of commits. Returns 0 if the file does not exist, as for databases of earlier
 * versions.
 */
function readCommits(path: string, damaged: (what: string) => BufferError): number {
  const file = commitsFile(path);
  if (!existsSync(file)) return 0;
  const [commits = '', checksum] = readFileSync(file, 'latin1').trim().split(' ');
  if (/^\d+$/.test(commits) && crc32(commits) === Number(checksum)) return Number(commits);
  throw damaged(
    `${file}, the number of its commits, has been changed; delete that file if nothing else is damaged`,
  );
}

const damagedDatabase = (path: string, what: string): BufferError =>
  new BufferError(
    `${path} is damaged: ${what}. The disk or another program has changed it. Restore it and the files next to it (${path}-*) from a copy, or move them all away to start with an empty one.`,
    { code: 'DATABASE_DAMAGED', details: { path } },
  );

const lostCommits = (path: string, lost: number, commits: number): BufferError =>
  new BufferError(
    `${path} lacks the last ${lost} of ${commits} commits, which had been confirmed: it or its write-ahead log, ${path}-wal, has been damaged or removed. Restore both from a copy. To continue without what is lost, delete ${commitsFile(path)}.`,
    { code: 'DATABASE_DAMAGED', details: { path, lost } },
  );
