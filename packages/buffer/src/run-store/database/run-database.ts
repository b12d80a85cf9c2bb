/**
 * Interface of a database that holds run stores: transactions, the clock of leases, and the wake-up
 * signal.
 */
import type { Kysely, RawBuilder } from 'kysely';
import type { Kind } from './create-tables.js';
import type { Tables } from './tables.js';

export interface RunDatabase {
  readonly kind: Kind;
  /** Description of the run store for messages, without a password. */
  readonly place: string;
  /**
   * Calls `work` in one transaction, which is durable (see {@link WriteOptions}) once the promise
   * resolves. If a connection is lost or transactions conflict, `work` is called again, and must
   * then have the same result.
   * @param what verb phrase that error messages contain, such as "lease tasks"
   */
  readonly write: <T>(what: string, work: Work<T>, options?: WriteOptions<T>) => Promise<T>;
  /** Calls `work` on one consistent snapshot. */
  readonly read: <T>(what: string, work: Work<T>) => Promise<T>;
  /** Returns the time of the lease clock in milliseconds. All processes share this clock. */
  readonly now: () => RawBuilder<number>;
  /** Returns the size on disk in bytes. */
  readonly sizeBytes: (database: Kysely<Tables>) => Promise<number>;
  /**
   * Calls `callback` when something may have been committed.
   * @returns function that stops listening
   */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

/**
 * Behaviour while the database is unavailable, because PostgreSQL is unreachable or SQLite's file
 * is locked.
 */
export interface Patience {
  /**
   * Milliseconds for which a call is retried.
   * @default 60_000 for PostgreSQL, 300_000 for SQLite
   */
  readonly patienceMs?: number;
  /**
   * Called with a message for the user when the database becomes unavailable, and when it is
   * available again.
   */
  readonly onNotice?: (text: string) => void;
  /** Signal that aborts when the process must stop. Calls then do not wait. @default no signal */
  readonly stop?: AbortSignal;
}

export type Work<T> = (database: Kysely<Tables>) => Promise<T>;

export interface WriteOptions<T> {
  /** False if a power failure (but not a SIGKILL) may undo the transaction. @default true */
  readonly isDurable?: boolean;
  /** Returns true if waiting processes must be woken. @default always true */
  readonly notifies?: (result: T) => boolean;
}
