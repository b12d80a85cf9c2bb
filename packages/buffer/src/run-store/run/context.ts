/**
 * Context that the modules of a run store share: the database, the training run, and the check that
 * a worker's membership is still valid.
 */
import { BufferError } from '@trinity-rft/core';
import type { Agreement, MemberRole, Membership } from '@trinity-rft/core/store';
import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { RunDatabase, Work, WriteOptions } from '../database/run-database.js';
import type { Tables } from '../database/tables.js';

export interface RunContext {
  readonly database: RunDatabase;
  /** Id of the training run in the database. */
  readonly run: number;
  /** Milliseconds without a heartbeat after which a worker is considered dead. */
  readonly leaseMs: number;
  /** Returns the time in milliseconds since the Unix epoch. */
  readonly calendar: () => number;
  /** Expected identity of the training run. @default no check of the identity */
  readonly claim?: RunClaim;
}

export type Connection = Kysely<Tables>;

/**
 * Checks that a membership is still valid.
 * @throws BufferError if a newer membership of that name has begun, or if this membership has ended
 */
export async function assertMember(
  { database, run }: RunContext,
  connection: Connection,
  member: Membership,
): Promise<void> {
  const row = await connection
    .selectFrom('member')
    .select('epoch')
    .where('run', '=', run)
    .where('name', '=', member.name)
    // Delays a new membership, but no heartbeat, until this transaction has ended.
    .$if(database.kind === 'postgres', (query) => query.forKeyShare())
    .executeTakeFirst();
  if (row?.epoch !== member.epoch) throw fencedError(member);
}

/**
 * Calls `work` in a transaction, after checking that the membership of `member` is valid.
 * @param what verb phrase used in error messages, such as "lease tasks"
 * @throws BufferError as {@link assertMember}
 */
export const writeAs = <T>(
  context: RunContext,
  member: Membership,
  what: string,
  work: Work<T>,
  options?: WriteOptions<T>,
): Promise<T> =>
  context.database.write(
    what,
    async (db) => {
      await assertMember(context, db, member);
      return work(db);
    },
    options,
  );

export const fencedError = ({ role, name, epoch }: Membership): BufferError =>
  new BufferError(
    `The ${role} ${name} (membership ${epoch}) has been replaced or has left: it was silent for longer than the lease time, or its place was given up. Nothing was changed. Start it again to go on.`,
    { code: 'MEMBER_FENCED', details: { name, epoch } },
  );

/** Returns SQL that is true if the worker has not left and its last heartbeat is recent. */
export const isAlive = ({ database, leaseMs }: RunContext): RawBuilder<boolean> =>
  // A heartbeat in the future is from before a restart of the machine or a change of its clock.
  sql<boolean>`(epoch > 0 AND abs(${database.now()} - beat_at) < ${leaseMs})`;

/**
 * Adds a clause to a query so that the rows it reads are locked until the transaction ends. Does
 * nothing in SQLite, which has only one writer at a time.
 */
export const locked = <DB, TB extends keyof DB, O>(
  { database }: RunContext,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> => (database.kind === 'postgres' ? query.forUpdate() : query);

/**
 * Splits rows into chunks that fit into one statement each, because databases limit the number of
 * parameters.
 */
export function* chunksOf<T>(rows: readonly T[], size = 1000): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/**
 * Identity that the training run of a given name must have, according to a process that opens it.
 */
export interface RunClaim {
  readonly role: MemberRole;
  /** Id that is stored in the training run's folder. */
  readonly id: string;
  readonly host: string;
  /** Absolute path of the training run's folder. */
  readonly folder: string;
  /**
   * Absolute path of the store's file, or URL of the store. A copy of the store has a different
   * value.
   */
  readonly place: string;
  readonly settings: Agreement;
  /** True if the folder contains steps of the training run. */
  readonly hasBegun: boolean;
  /** Returns true if `folder` on this machine contains the training run `id`. */
  readonly isAt: (folder: string, id: string) => boolean;
  /**
   * True to set aside another training run that already has the name, by renaming it. If false, the
   * claim fails in this case.
   * @default false
   */
  readonly startsOver?: boolean;
}
