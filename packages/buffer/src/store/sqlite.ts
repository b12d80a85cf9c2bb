/**
 * An experience store in one SQLite file. Stored experiences survive a SIGKILL and a power failure.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { TrinityError, type Clock, BufferError } from '@trinity-rft/core';
import {
  type ExperienceStore,
  assertIntact,
  isLocked,
  lockFile,
  openSqlite,
  useWriteAheadLog,
} from '@trinity-rft/core/store';
import { damagedStore } from './checksum.js';
import { leaseStore, type Follow, type LeaseStoreOptions } from './lease-store.js';
import { readLedger } from './ledger.js';
import { claimStore, type StoreOwner } from './owner.js';
import { prepareSchema } from './schema.js';
import type { RowDriver } from './row-driver.js';
import { sqliteRows, type SqliteRowsOptions } from './sqlite-rows.js';
import { stateTable } from './state-table.js';

export interface SqliteExperienceStoreOptions extends Omit<LeaseStoreOptions, 'follow'> {
  /**
   * Path of the database. The file and its folder are created if they are missing. SQLite's `-wal`
   * and `-shm` files and the `.lock` file are next to the database.
   */
  readonly path: string;
  /**
   * Options for reading experiences that a writer in another process adds (see
   * {@link sqliteExperienceWriter}). When that writer has ended, the store finishes. If there has
   * never been a writer, it finishes at once.
   * @default no other writer
   */
  readonly followWriter?: FollowOptions;
  /** Training run that owns the store. @default undefined: the owner is not checked */
  readonly owner?: StoreOwner;
  /**
   * Called with a notice if a store of an earlier version contains experiences that cannot be
   * verified.
   */
  readonly onNotice?: (text: string) => void;
}

export interface FollowOptions {
  readonly clock: Clock;
  /** Milliseconds between two checks for new rows. @default 500 */
  readonly everyMs?: number;
  /**
   * Time in milliseconds for which a writer may be absent. After that, it counts as ended.
   * @default 60_000
   */
  readonly graceMs?: number;
  /** Called when a writer has been absent for longer than `graceMs`. */
  readonly onGone?: () => void;
}

/**
 * Opens or creates the store. Only one process at a time may have the store open. The operating
 * system holds the lock, so a killed process leaves no lock.
 * @throws BufferError if another process has the store open, or if the file is damaged, belongs to
 * another program or is from a newer version
 */
export function sqliteExperienceStore(options: SqliteExperienceStoreOptions): ExperienceStore {
  const { path, followWriter, onNotice, owner } = options;
  const rows = openSqliteRows(path, { onNotice, keepNewest: true, owner });
  return leaseStore(rows, { ...options, follow: followWriter && followOf(path, followWriter) });
}

interface OpenRowsOptions extends Omit<SqliteRowsOptions, 'path' | 'release'> {
  /** Suffix of the lock file. The owner of the store uses the default. @default "lock" */
  readonly suffix?: string;
  readonly owner?: StoreOwner | undefined;
}

/**
 * Opens the rows of a store. Creates the file if it is missing.
 * @throws BufferError as {@link sqliteExperienceStore}
 */
export function openSqliteRows(
  path: string,
  { suffix, owner, ...options }: OpenRowsOptions = {},
): Required<RowDriver> {
  return naming(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    const unlock = lock(path, suffix);
    let database: DatabaseSync | undefined;
    try {
      database = openDatabase(path);
      // The checksums of rows do not cover the indices, which are used to find used experiences.
      if (suffix === undefined) assertIntact(database, damagedStore);
      const rows = sqliteRows(database, { ...options, path, release: unlock });
      if (owner) claim(database, path, owner);
      return rows;
    } catch (error) {
      database?.close();
      unlock();
      throw error;
    }
  });
}

/** A writer that adds experiences to a store from which another process trains. */
export type ExperienceWriter = Pick<
  ExperienceStore,
  'put' | 'explorerState' | 'lastCommit' | 'close'
>;

/**
 * Opens or creates the store only to add experiences. The owner may have the store open at the same
 * time. If the owner opened it with `followWriter`, it receives the added experiences. A store can
 * have only one writer at a time.
 * @throws BufferError as {@link sqliteExperienceStore}
 */
export function sqliteExperienceWriter({
  path,
  owner,
}: Pick<SqliteExperienceStoreOptions, 'path' | 'owner'>): ExperienceWriter {
  const rows = openSqliteRows(path, { suffix: writerLock, owner });
  return {
    put: async (...added) => void rows.insert(...added),
    explorerState: async () => rows.explorerState(),
    lastCommit: async () => rows.lastCommit(),
    close: async () => rows.close(),
  };
}

function claim(database: DatabaseSync, path: string, owner: StoreOwner): void {
  const state = stateTable(database);
  claimStore(owner, { path, state, isEmpty: readLedger(state).lastId === 0 });
}

const writerLock = 'writer.lock';

/**
 * Returns true if a writer has ever opened the store. A writer that has ended may start again, such
 * as a server that is restarted.
 */
export const hasHadWriter = (path: string): boolean => existsSync(`${path}.${writerLock}`);

/**
 * Creates the options for following a writer. The writer counts as ended if it has been absent for
 * `graceMs`, or if there has never been one.
 */
function followOf(
  path: string,
  { clock, everyMs = 500, graceMs = 60_000, onGone }: FollowOptions,
): Follow {
  let seen = clock.now();
  return {
    clock,
    everyMs,
    ended: () => {
      if (!hasHadWriter(path)) return true;
      if (isLocked(`${path}.${writerLock}`)) seen = clock.now();
      const isGone = clock.now() - seen > graceMs;
      if (isGone) onGone?.();
      return isGone;
    },
  };
}

function openDatabase(path: string): DatabaseSync {
  const database = openSqlite(path);
  try {
    // WAL: a commit is one append, and readers (such as the sqlite3 shell) do not disturb it. A
    // commit survives SIGKILL at any setting of `synchronous`. FULL also flushes the disk once per
    // commit, so that after a power failure the store is never older than a checkpoint that was
    // written later. At one commit per explore step and train step this costs milliseconds. The
    // timeout is for a writer in another process, whose commits take milliseconds.
    database.exec('PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL;');
    useWriteAheadLog(database);
    prepareSchema(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Holds an exclusive lock on an empty database next to the store.
 * @returns function that releases the lock
 */
function lock(path: string, suffix = 'lock'): () => void {
  const holder = lockFile(`${path}.${suffix}`);
  if (holder === undefined)
    throw new BufferError(
      `${path} is already open in this or another process; expected one owner. End the other run, or give this one another name.`,
      { code: 'BUFFER_LOCKED' },
    );
  return () => holder.close();
}

function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    throw new BufferError(
      `The experience store ${path} cannot be opened: ${(cause as Error).message}. Expected a file that this process may read and write.`,
      { code: 'BUFFER_OPEN', details: { path }, cause },
    );
  }
}
