/** Shared by the parts of a run store: the database, the run in it, and the check of a member. */
import { BufferError } from '@trinity-rft/core';
import type { Agreement, MemberRole, Membership } from '@trinity-rft/core/store';
import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { RunDatabase } from '../database/run-database.js';
import type { Tables } from '../database/tables.js';

export interface RunContext {
  readonly database: RunDatabase;
  /** ID of the run in the database. */
  readonly run: number;
  /** A member that has not beaten for so long counts as gone. */
  readonly leaseMs: number;
  /** Milliseconds since the epoch. */
  readonly calendar: () => number;
  /** @default none: the identity of the run is not looked at */
  readonly claim?: RunClaim;
}

export type Connection = Kysely<Tables>;

/** @throws BufferError when a newer membership of that name has begun, or this one has ended */
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
    // Holds off a new membership until this transaction has ended, but no heartbeat.
    .$if(database.kind === 'postgres', (query) => query.forKeyShare())
    .executeTakeFirst();
  if (row?.epoch !== member.epoch) throw fencedError(member);
}

export const fencedError = ({ role, name, epoch }: Membership): BufferError =>
  new BufferError(
    `The ${role} ${name} (membership ${epoch}) has been replaced or has left: it was silent for longer than the lease time, or its place was given up. Nothing was changed. Start it again to go on.`,
    { code: 'MEMBER_FENCED', details: { name, epoch } },
  );

/** True where the member of that row is at work: it has not left, and its last beat is recent. */
export const isAlive = ({ database, leaseMs }: RunContext): RawBuilder<boolean> =>
  // A beat in the future is of before a restart of the machine, or the server's clock was set back.
  sql<boolean>`(epoch > 0 AND abs(${database.now()} - beat_at) < ${leaseMs})`;

/** Locks the rows that it reads until the transaction ends. SQLite has one writer anyway. */
export const locked = <DB, TB extends keyof DB, O>(
  { database }: RunContext,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> => (database.kind === 'postgres' ? query.forUpdate() : query);

/** Rows per statement: databases bound the number of parameters. */
export function* chunksOf<T>(rows: readonly T[], size = 1000): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
}

/** The run that a process expects under the name of the run. */
export interface RunClaim {
  readonly role: MemberRole;
  /** Kept in the run's folder. */
  readonly id: string;
  readonly host: string;
  /** The run's folder, absolute. */
  readonly folder: string;
  /** The store, absolute: a copy of it is another store. */
  readonly place: string;
  readonly settings: Agreement;
  /** The folder holds steps of the run. */
  readonly hasBegun: boolean;
  /** True if `folder` holds the run `id` on this machine. */
  readonly isAt: (folder: string, id: string) => boolean;
  /** Sets an earlier run of the name aside. @default false: a claim on it is refused */
  readonly startsOver?: boolean;
}
