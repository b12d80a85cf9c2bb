/** A database that holds run stores: transactions, the clock of leases, and the bell. */
import type { Kysely, RawBuilder } from 'kysely';
import type { Kind } from './create-tables.js';
import type { Tables } from './tables.js';

export interface RunDatabase {
  readonly kind: Kind;
  /** For messages: without a password. */
  readonly place: string;
  /**
   * One transaction, durable once it resolves. The work may be done more than once, when a
   * connection is lost or two transactions meet; it must then end in the same.
   * @param what completes "could not ..."
   */
  readonly write: <T>(what: string, work: Work<T>, options?: WriteOptions<T>) => Promise<T>;
  /** Reads everything as of one moment. */
  readonly read: <T>(what: string, work: Work<T>) => Promise<T>;
  /** The clock of leases, in milliseconds; it does not jump. */
  readonly now: () => RawBuilder<number>;
  /** Bytes on disk. */
  readonly sizeBytes: (database: Kysely<Tables>) => Promise<number>;
  /** Calls back once something may have been committed. @returns a function that ends it */
  readonly listen: (callback: () => void) => () => void;
  readonly close: () => Promise<void>;
}

export type Work<T> = (database: Kysely<Tables>) => Promise<T>;

export interface WriteOptions<T> {
  /** False: a power cut, not a SIGKILL, may undo it. @default true */
  readonly isDurable?: boolean;
  /** True if others have something to look at. @default always */
  readonly rings?: (result: T) => boolean;
}
