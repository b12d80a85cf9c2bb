/** A database that holds run stores: transactions, the clock of leases, and the wake-up signal. */
import type { Kysely, RawBuilder } from 'kysely';
import type { Kind } from './create-tables.js';
import type { Tables } from './tables.js';

export interface RunDatabase {
  readonly kind: Kind;
  /** Address for messages, without a password. */
  readonly place: string;
  /**
   * Runs `work` in one transaction, which is durable (see {@link WriteOptions}) once the promise
   * resolves. `work` may run several times, if a connection is lost or transactions conflict; it
   * must then have the same result.
   * @param what completes "could not ..."
   */
  readonly write: <T>(what: string, work: Work<T>, options?: WriteOptions<T>) => Promise<T>;
  /** Runs `work` on one consistent snapshot. */
  readonly read: <T>(what: string, work: Work<T>) => Promise<T>;
  /** Time of the lease clock in milliseconds: the same for all processes. */
  readonly now: () => RawBuilder<number>;
  /** Size on disk in bytes. */
  readonly sizeBytes: (database: Kysely<Tables>) => Promise<number>;
  /** Calls `callback` when something may have been committed. @returns function that stops listening */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

/** Behaviour while the database is unavailable: PostgreSQL is unreachable, or SQLite's file is locked. */
export interface Patience {
  /**
   * Milliseconds for which a call is retried.
   * @default 60_000 for PostgreSQL, 300_000 for SQLite
   */
  readonly patienceMs?: number;
  /** Called with a text when the database becomes unavailable, and when it is available again. */
  readonly onNotice?: (text: string) => void;
  /** Aborted when the process is to stop; then calls do not wait. @default no signal */
  readonly stop?: AbortSignal;
}

export type Work<T> = (database: Kysely<Tables>) => Promise<T>;

export interface WriteOptions<T> {
  /** False if a power failure (but not a SIGKILL) may undo the transaction. @default true */
  readonly isDurable?: boolean;
  /** True if waiting processes must be woken. @default always true */
  readonly notifies?: (result: T) => boolean;
}
