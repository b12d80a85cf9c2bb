/**
 * Locks that the operating system manages, on empty SQLite databases. When the process that holds a
 * lock ends, even if it is killed, the lock is released; a new process with the same id does not
 * inherit it.
 */
import type { DatabaseSync } from 'node:sqlite';
import { isBusy, openSqlite } from './sqlite.js';

/** Milliseconds to wait for a lock. Checking whether a lock is free also holds it for a moment. */
const lockWaitMs = 200;

/**
 * Locks a file, which is created if it is missing. Closing the returned database releases the lock.
 * @returns undefined if another connection holds the lock
 */
export function lockFile(file: string, waitMs = lockWaitMs): DatabaseSync | undefined {
  const holder = openSqlite(file);
  let isHeld = false;
  try {
    isHeld = unlessBusy(holder, `PRAGMA busy_timeout = ${waitMs}; BEGIN EXCLUSIVE`);
    return isHeld ? holder : undefined;
  } finally {
    if (!isHeld) holder.close();
  }
}

/**
 * Returns true if a connection holds the lock on an existing file. Reads the file, so that several
 * processes can check at the same moment.
 */
export function isLocked(file: string): boolean {
  const reader = openSqlite(file, { readOnly: true });
  try {
    return !unlessBusy(reader, 'SELECT 1 FROM sqlite_schema');
  } finally {
    reader.close();
  }
}

/** Executes statements. Returns false if another connection holds the lock. */
function unlessBusy(database: DatabaseSync, sql: string): boolean {
  try {
    database.exec(sql);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}
