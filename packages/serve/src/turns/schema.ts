/** The tables of the turn store, and their statements. */
import type { DatabaseSync } from 'node:sqlite';
import { BufferError } from '@trinity-rft/core';
import { checkedTables, type CheckedTables } from '@trinity-rft/core/store';

/** Version of the tables. Must be increased if older code could not read the changed tables. */
const schemaVersion = 2;
/** SQLite application id, "TRSV" in ASCII. It distinguishes turn stores from other databases. */
const applicationId = 0x54525356;

/**
 * Statements that create the tables of version 1. A call without a reward is open. A call with a
 * reward is ready, until its bytes are deleted. It is then committed.
 */
const createSchema = `
  BEGIN IMMEDIATE;
  CREATE TABLE call (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    msg TEXT NOT NULL,
    choice INTEGER NOT NULL,
    session TEXT NOT NULL,
    reward REAL,
    task TEXT,
    run INTEGER,
    batch INTEGER,
    bytes BLOB,
    UNIQUE (msg, choice)
  );
  CREATE INDEX unsettled ON call (batch, id) WHERE reward IS NOT NULL AND bytes IS NOT NULL;
  CREATE INDEX open_calls ON call (id) WHERE reward IS NULL;
  CREATE TABLE fact (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO fact VALUES ('starts', 0), ('step', 0);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = 1;
  COMMIT;
`;

/**
 * Creates the tables, or upgrades them to version 2, which adds checksums.
 * @throws BufferError if the file belongs to another program or a newer version
 */
export function prepareSchema(database: DatabaseSync, path: string): CheckedTables {
  assertOurs(database, path);
  const upgrade = `PRAGMA user_version = ${schemaVersion}`;
  return checkedTables(database, { path, tables: ['call', 'fact'], upgrade });
}

function assertOurs(database: DatabaseSync, path: string): void {
  const version = pragma(database, 'user_version');
  if (version === 0 && database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined)
    return database.exec(createSchema);
  const isKnown = version >= 1 && version <= schemaVersion;
  if (pragma(database, 'application_id') === applicationId && isKnown) return undefined;
  throw new BufferError(
    `${path} is not a database of served calls, or comes from a newer version. Expected no file, or one that this version wrote. Move the file away.`,
    { code: 'SERVE_FOREIGN' },
  );
}

const pragma = (database: DatabaseSync, name: string): number =>
  Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);

export function prepareStatements(
  database: DatabaseSync,
  { isWhole, rowCount }: Pick<CheckedTables, 'isWhole' | 'rowCount'>,
) {
  // The condition of the index `unsettled`.
  const ready = 'reward IS NOT NULL AND bytes IS NOT NULL';
  return {
    insert: database.prepare(
      'INSERT OR IGNORE INTO call (msg, choice, session, bytes) VALUES (?, ?, ?, ?)',
    ),
    ofMessage: database.prepare(
      'SELECT id, msg, choice, session, reward, task, run FROM call WHERE msg = ? ORDER BY choice',
    ),
    reward: database.prepare('UPDATE call SET reward = ?, task = ?, run = ? WHERE id = ?'),
    assign: database.prepare(`UPDATE call SET batch = ? WHERE ${ready} AND batch IS NULL`),
    unfinished: database.prepare(
      `SELECT batch FROM call WHERE ${ready} AND batch IS NOT NULL LIMIT 1`,
    ),
    ofBatch: database.prepare(
      `SELECT msg, choice, session, reward, task, run, bytes, ${isWhole('call')} AS is_whole FROM call WHERE ${ready} AND batch = ? ORDER BY id`,
    ),
    finish: database.prepare(`UPDATE call SET bytes = NULL WHERE ${ready} AND batch = ?`),
    expire: database.prepare(
      'DELETE FROM call WHERE reward IS NULL AND id <= (SELECT id FROM call WHERE reward IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?)',
    ),
    counts: database.prepare(
      `SELECT ${rowCount('call')} AS total,
       (SELECT count(*) FROM call WHERE reward IS NULL) AS open,
       (SELECT count(*) FROM call WHERE ${ready}) AS ready`,
    ),
    fact: database.prepare('SELECT value FROM fact WHERE name = ?'),
    setFact: database.prepare('UPDATE fact SET value = ? WHERE name = ?'),
  };
}
