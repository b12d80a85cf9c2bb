/** Context that the parts of a run store share: the database, its run, and the check of a member. */
import { BufferError } from '@trinity-rft/core';
import type { Agreement, MemberRole, Membership } from '@trinity-rft/core/store';
import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { RunDatabase, Work, WriteOptions } from '../database/run-database.js';
import type { Tables } from '../database/tables.js';

export interface RunContext {
  readonly database: RunDatabase;
  /** ID of the run in the database. */
  readonly run: number;
  /** Milliseconds without a heartbeat after which a member counts as gone. */
  readonly leaseMs: number;
  /** Time in milliseconds since the epoch. */
  readonly calendar: () => number;
  /** Expected identity of the run. @default the identity of the run is not checked */
  readonly claim?: RunClaim;
}

export type Connection = Kysely<Tables>;

/** @throws BufferError if a newer membership of that name has begun, or if this one has ended */
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
    // Blocks a new membership until this transaction has ended, but no heartbeat.
    .$if(database.kind === 'postgres', (query) => query.forKeyShare())
    .executeTakeFirst();
  if (row?.epoch !== member.epoch) throw fencedError(member);
}

/**
 * Runs `work` in a transaction of `member`.
 * @param what completes "could not ..."
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

/** SQL that is true if the member has not left and its last heartbeat is recent. */
export const isAlive = ({ database, leaseMs }: RunContext): RawBuilder<boolean> =>
  // A heartbeat in the future is from before a restart of the machine or a change of its clock.
  sql<boolean>`(epoch > 0 AND abs(${database.now()} - beat_at) < ${leaseMs})`;

/** Locks the rows that the query reads until the transaction ends. SQLite has only one writer anyway. */
export const locked = <DB, TB extends keyof DB, O>(
  { database }: RunContext,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> => (database.kind === 'postgres' ? query.forUpdate() : query);

/** Splits rows for several statements, because databases limit the number of parameters. */
export function* chunksOf<T>(rows: readonly T[], size = 1000): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/** Identifies the run that a process expects under the run's name. */
export interface RunClaim {
  readonly role: MemberRole;
  /** Id that is stored in the run's folder. */
  readonly id: string;
  readonly host: string;
  /** Absolute path of the run's folder. */
  readonly folder: string;
  /** Absolute address of the store; a copy of the store is a different one. */
  readonly place: string;
  readonly settings: Agreement;
  /** True if the folder contains steps of the run. */
  readonly hasBegun: boolean;
  /** True if `folder` holds the run `id` on this machine. */
  readonly isAt: (folder: string, id: string) => boolean;
  /** True if an earlier run of that name is set aside; else the claim is refused. @default false */
  readonly startsOver?: boolean;
}
