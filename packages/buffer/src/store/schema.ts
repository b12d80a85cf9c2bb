/** Creates the tables of an experience store, and migrates tables of earlier versions. */
import type { DatabaseSync } from 'node:sqlite';
import { BufferError } from '@trinity-rft/core';
import { inTransaction } from '@trinity-rft/core/store';
import { createLedger } from './ledger.js';
import { stateTable } from './state-table.js';

/**
 * Version of the tables. It increases with every change that makes the tables unreadable for older
 * programs.
 */
const schemaVersion = 4;
/**
 * SQLite application id: "TRXB" in ASCII. It distinguishes experience stores from other databases.
 */
const applicationId = 0x54525842;

/**
 * Creates the tables, or migrates the tables of an earlier version.
 * @throws BufferError if the file belongs to another program or is from a newer version
 */
export function prepareSchema(database: DatabaseSync, path: string): void {
  if (pragma(database, 'user_version') === schemaVersion && isOurs(database)) return;
  // Read again in the transaction, because another process may prepare the same file.
  inTransaction(database, () => {
    const version = pragma(database, 'user_version');
    assertReadable(database, path, version);
    for (const migration of migrations.slice(version)) database.exec(migration);
    if (version < 2) createLedger(database, stateTable(database));
    database.exec(`PRAGMA user_version = ${schemaVersion}`);
  });
}

const isOurs = (database: DatabaseSync): boolean =>
  pragma(database, 'application_id') === applicationId;

function assertReadable(database: DatabaseSync, path: string, version: number): void {
  if (version === 0 ? hasTables(database) : !isOurs(database))
    throw new BufferError(
      `${path} is a database of another program; expected an experience store or no file. Name another path.`,
      { code: 'BUFFER_FOREIGN' },
    );
  if (version > schemaVersion)
    throw new BufferError(
      `${path} has schema version ${version}; this program reads up to ${schemaVersion}. Use the program that wrote it.`,
      { code: 'BUFFER_VERSION' },
    );
}

/** Returns true if the tables have columns for checksums (from version 2 on). */
export const hasChecksums = (database: DatabaseSync): boolean =>
  pragma(database, 'user_version') >= 2;

/** Returns true if the tables store the advantages that train steps used (from version 4 on). */
export const hasAdvantages = (database: DatabaseSync): boolean =>
  pragma(database, 'user_version') >= 4;

/**
 * Statements of version 1. `used` is a separate table so that an acknowledgement does not rewrite
 * the experience.
 */
const createSchema = `
  CREATE TABLE experience (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    policy_version INTEGER NOT NULL,
    bytes BLOB NOT NULL
  );
  -- Which train step used an experience up; dropped = 1 when that was because it was too old.
  CREATE TABLE used (
    id INTEGER PRIMARY KEY REFERENCES experience (id),
    train_step INTEGER NOT NULL,
    dropped INTEGER NOT NULL
  );
  CREATE TABLE state (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
`;

/** Migration to version 2, which adds checksums. Existing rows keep a checksum of null. */
const addChecksums = `
  ALTER TABLE experience ADD COLUMN checksum INTEGER;
  ALTER TABLE used ADD COLUMN checksum INTEGER;
  ALTER TABLE state ADD COLUMN checksum INTEGER;
`;

/**
 * Migration to version 3, which allows several train steps to use an experience. The order of
 * rowids is the order within a batch.
 */
const useSeveralTimes = `
  ALTER TABLE used RENAME TO used_once;
  CREATE TABLE used (
    id INTEGER NOT NULL REFERENCES experience (id),
    train_step INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    checksum INTEGER,
    -- In milliseconds since the epoch; null in rows of earlier versions.
    used_at INTEGER,
    PRIMARY KEY (id, train_step)
  );
  INSERT INTO used (id, train_step, dropped, checksum)
    SELECT id, train_step, dropped, checksum FROM used_once ORDER BY id;
  DROP TABLE used_once;
`;

/**
 * Migration to version 4, which stores the advantages that a train step used: the mean over trained
 * tokens in `used`, and one value per token in `token_advantage` if they differ.
 */
const keepAdvantages = `
  ALTER TABLE used ADD COLUMN advantage REAL;
  CREATE TABLE token_advantage (
    id INTEGER NOT NULL,
    train_step INTEGER NOT NULL,
    -- 32-bit floats, one per response token.
    bytes BLOB NOT NULL,
    PRIMARY KEY (id, train_step),
    FOREIGN KEY (id, train_step) REFERENCES used (id, train_step) ON DELETE CASCADE
  ) WITHOUT ROWID;
`;

/** Migrations. The migration at index i leads from version i to version i + 1. */
const migrations = [createSchema, addChecksums, useSeveralTimes, keepAdvantages];

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}
