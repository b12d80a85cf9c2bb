/** An experience store in one SQLite file: what it said it holds survives a SIGKILL and a power cut. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { BufferError, TrinityError, type ExperienceStore } from '@trinity-rft/core';
import { leaseStore, type LeaseStoreOptions } from './lease-store.js';
import { sqliteRows } from './sqlite-rows.js';

export interface SqliteExperienceStoreOptions extends LeaseStoreOptions {
  /** The database file; made with its folder when it is not there. SQLite keeps `-wal`, `-shm` and our `.lock` beside it. */
  readonly path: string;
}

/** Increased when a reader of the old tables could not read the new ones. */
const schemaVersion = 1;
/** "TRXB" in the file header: tells our files from anybody else's database. */
const applicationId = 0x54525842;

/**
 * Opens or makes the store. One process may have it open at a time; the lock is the operating system's, so a killed process
 * leaves none behind.
 * @throws BufferError when another process has it open, or the file is damaged, foreign or from a newer version
 */
export function sqliteExperienceStore(options: SqliteExperienceStoreOptions): ExperienceStore {
  const { path } = options;
  return guarded(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    const unlock = lock(path);
    try {
      const database = open(path);
      return leaseStore(sqliteRows(database, unlock), options);
    } catch (error) {
      unlock();
      throw error;
    }
  });
}

/** Loaded on first use: Node 22 prints a warning when it loads the module, which users of other drivers should not see. */
function connect(path: string): DatabaseSync {
  const sqlite = process.getBuiltinModule('node:sqlite');
  return new sqlite.DatabaseSync(path);
}

function open(path: string): DatabaseSync {
  const database = connect(path);
  try {
    // WAL: a commit is one append, and readers (a person with the sqlite3 shell) do not disturb it. A commit survives SIGKILL
    // at any setting of `synchronous`; FULL also flushes the disk once per commit, so that after a power cut the store is never
    // older than a checkpoint that was written after it. At one commit per explore step and train step that costs milliseconds.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    prepareSchema(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepareSchema(database: DatabaseSync, path: string): void {
  const version = pragma(database, 'user_version');
  const id = pragma(database, 'application_id');
  const foreign = (id !== applicationId && version !== 0) || (version === 0 && hasTables(database));
  if (foreign) {
    throw new BufferError(`${path} is a database of another program; expected an experience store or no file. Name another path.`, {
      code: 'BUFFER_FOREIGN',
    });
  }
  if (version > schemaVersion) {
    throw new BufferError(
      `${path} has schema version ${version}; this program reads up to ${schemaVersion}. Use the program that wrote it.`,
      {
        code: 'BUFFER_VERSION',
      },
    );
  }
  if (version === 0) database.exec(createSchema);
}

/** `used` is a table of its own so that an acknowledgement writes a few bytes per experience and does not copy the experience. */
const createSchema = `
  BEGIN IMMEDIATE;
  CREATE TABLE experience (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    policy_version INTEGER NOT NULL,
    bytes BLOB NOT NULL
  );
  -- Which train step used an experience up; dropped = 1 when it did so by refusing it as too old.
  CREATE TABLE used (
    id INTEGER PRIMARY KEY REFERENCES experience (id),
    train_step INTEGER NOT NULL,
    dropped INTEGER NOT NULL
  );
  CREATE TABLE state (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
  COMMIT;
`;

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
}

/** Holds an exclusive lock on an empty database beside the store; returns how to let go. */
function lock(path: string): () => void {
  const holder = connect(`${path}.lock`);
  try {
    holder.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    holder.close();
    throw new BufferError(
      `${path} is open already, here or in another process; expected one owner. End the other run, or give this one another name.`,
      {
        code: 'BUFFER_LOCKED',
        cause,
      },
    );
  }
  return () => holder.close();
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    throw new BufferError(
      `The experience store ${path} cannot be opened: ${(cause as Error).message}. Expected a file that this process may read and write.`,
      {
        code: 'BUFFER_OPEN',
        details: { path },
        cause,
      },
    );
  }
}
