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
   * Calls `work` in one transaction. When the promise resolves, the transaction is durable (see
   * {@link WriteOptions}). If the connection is lost or transactions conflict, `work` is called
   * again, so it must not depend on state that an earlier attempt has changed.
   * @param what verb phrase used in error messages, such as "lease tasks"
   */
  readonly write: <T>(what: string, work: Work<T>, options?: WriteOptions<T>) => Promise<T>;
  /** Calls `work` in a read-only transaction on one consistent snapshot. */
  readonly read: <T>(what: string, work: Work<T>) => Promise<T>;
  /**
   * Returns SQL for the current time of the lease clock in milliseconds. All processes share this
   * clock.
   */
  readonly now: () => RawBuilder<number>;
  /** Returns the size on disk in bytes. */
  readonly sizeBytes: (database: Kysely<Tables>) => Promise<number>;
  /**
   * Calls `callback` when another call or process may have committed a change.
   * @returns function that stops listening
   */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

/**
 * Determines what calls do while the database is unavailable, because PostgreSQL cannot be reached
 * or SQLite's file is locked.
 */
export interface Patience {
  /**
   * Milliseconds for which a call is retried.
   * @default 60_000 for PostgreSQL, 300_000 for SQLite
   */
  readonly patienceMs?: number;
  /**
   * Called with a message for the user when the database becomes unavailable, and again when it
   * becomes available.
   */
  readonly onNotice?: (text: string) => void;
  /**
   * Signal that aborts when the process must stop. After that, calls fail instead of waiting.
   * @default no signal
   */
  readonly stop?: AbortSignal;
}

export type Work<T> = (database: Kysely<Tables>) => Promise<T>;

export interface WriteOptions<T> {
  /**
   * False if a power failure may undo the transaction. In either case, the transaction survives the
   * end of the process, even by SIGKILL.
   * @default true
   */
  readonly isDurable?: boolean;
  /**
   * Returns true if the transaction has changed something that other processes may wait for, so
   * that they must be woken.
   * @default always true
   */
  readonly notifies?: (result: T) => boolean;
}
