/** The tables of an experience store, their versions, and what an earlier version lacks. */
import type { DatabaseSync } from 'node:sqlite';
import { BufferError } from '@trinity-rft/core/internal';
import { createLedger } from './ledger.js';
import { stateTable } from './state-table.js';

/** Increased when programs that read the old tables cannot read the new ones. */
const schemaVersion = 2;
/** "TRXB" in the file header: distinguishes our files from other databases. */
const applicationId = 0x54525842;

/**
 * Creates the tables, or adds what those of an earlier version lack.
 * @throws BufferError when the file is foreign or from a newer version
 */
export function prepareSchema(database: DatabaseSync, path: string): void {
  const version = pragma(database, 'user_version');
  const id = pragma(database, 'application_id');
  const foreign = (id !== applicationId && version !== 0) || (version === 0 && hasTables(database));
  if (foreign) {
    throw new BufferError(
      `${path} is a database of another program; expected an experience store or no file. Name another path.`,
      { code: 'BUFFER_FOREIGN' },
    );
  }
  if (version > schemaVersion) {
    throw new BufferError(
      `${path} has schema version ${version}; this program reads up to ${schemaVersion}. Use the program that wrote it.`,
      { code: 'BUFFER_VERSION' },
    );
  }
  if (version < schemaVersion) {
    database.exec(version === 0 ? createSchema : addChecksums);
    createLedger(database, stateTable(database));
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT;`);
  }
}

/** True when rows have a column for their checksum. */
export const hasChecksums = (database: DatabaseSync): boolean =>
  pragma(database, 'user_version') >= 2;

/** Begins a transaction. `used` is a separate table so that an acknowledgement does not rewrite the experience. */
const createSchema = `
  BEGIN IMMEDIATE;
  CREATE TABLE experience (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    policy_version INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    checksum INTEGER
  );
  -- Which train step used an experience up; dropped = 1 when that was because it was too old.
  CREATE TABLE used (
    id INTEGER PRIMARY KEY REFERENCES experience (id),
    train_step INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    checksum INTEGER
  );
  CREATE TABLE state (name TEXT PRIMARY KEY, json TEXT NOT NULL, checksum INTEGER) WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
`;

/** Begins a transaction. Rows that are there already keep the checksum null. */
const addChecksums = `
  BEGIN IMMEDIATE;
  ALTER TABLE experience ADD COLUMN checksum INTEGER;
  ALTER TABLE used ADD COLUMN checksum INTEGER;
  ALTER TABLE state ADD COLUMN checksum INTEGER;
`;

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}
