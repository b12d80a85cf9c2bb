/** Run stores in PostgreSQL, for processes on several machines. */
import { TrinityError, systemClock } from '@trinity-rft/core';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import { postgresNotifier } from './postgres-notifier.js';
import { connectPool } from './postgres-pool.js';
import { postgresFailure, type PostgresPlace } from './postgres-errors.js';
import { untilItAnswers } from './reconnect.js';
import type { RunDatabase, Work, WriteOptions } from './run-database.js';
import { assertSchema, migrate } from './schema.js';
import type { Tables } from './tables.js';
import type { PostgresOptions } from './postgres-pool.js';

/**
 * Opens a PostgreSQL database.
 * @throws BufferError if the database cannot be opened; the message names server and database and
 * says what to do, and does not contain the password
 */
export async function postgresDatabase(options: PostgresOptions): Promise<RunDatabase> {
  const { patienceMs = 60_000, clock = systemClock, onNotice = () => undefined } = options;
  const { pool, place, connect } = await connectPool(options);
  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool,
      onCreateConnection: async (connection) => {
        await connection.executeQuery(CompiledQuery.raw(sessionSettings));
      },
    }),
  });
  const again = untilItAnswers({ place, patienceMs, clock, onNotice, stop: options.stop });
  const transact: Transact = (what, transaction) =>
    again(async () => {
      try {
        return await kysely.connection().execute(transaction);
      } catch (cause) {
        throw TrinityError.is(cause) ? cause : postgresFailure(place, what, cause);
      }
    });
  try {
    if (options.isReader)
      await transact(
        'look for its tables',
        reading((db) => assertSchema(db, 'postgres', place.text)),
      );
    else await transact('create its tables', prepareTables(place));
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
  const notifier = postgresNotifier(connect, clock);
  return {
    kind: 'postgres',
    place: place.text,
    write: (what, work, given) => transact(what, writing(work, given)),
    read: (what, work) => transact(what, reading(work)),
    now: () => sql<number>`(extract(epoch FROM clock_timestamp()) * 1000)::double precision`,
    sizeBytes,
    listen: notifier.listen,
    close: async () => {
      again.end();
      await notifier.close();
      await kysely.destroy();
    },
  };
}

type Transact = <T>(what: string, transaction: Work<T>) => Promise<T>;

/**
 * Statements that set the search path and timeouts. Because of the timeouts, the server releases
 * the locks of a connection that was interrupted.
 */
const sessionSettings = `
  SET search_path TO trinity;
  SET idle_in_transaction_session_timeout = 30000;
  SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`;

const run = async (database: Kysely<Tables>, statements: string): Promise<void> => {
  await sql.raw(statements).execute(database);
};

function writing<T>(work: Work<T>, options: WriteOptions<T> = {}): Work<T> {
  const { isDurable = true, notifies = () => true } = options;
  const begin = isDurable ? 'BEGIN' : 'BEGIN; SET LOCAL synchronous_commit = off';
  return (database) =>
    rollingBack(database, async () => {
      await run(database, begin);
      const result = await work(database);
      await run(database, notifies(result) ? 'NOTIFY trinity_run; COMMIT' : 'COMMIT');
      return result;
    });
}

function reading<T>(work: Work<T>): Work<T> {
  return (database) =>
    rollingBack(database, async () => {
      await run(database, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const result = await work(database);
      await run(database, 'COMMIT');
      return result;
    });
}

async function rollingBack<T>(database: Kysely<Tables>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // A ROLLBACK fails if the connection is lost. A lost connection also ends the transaction.
    await run(database, 'ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Id of the advisory lock that is held during migrations, "TRXR" in ASCII. */
const migrationLock = 0x54525852;

const prepareTables = (place: PostgresPlace): Work<void> =>
  writing(
    async (database) => {
      await sql`SELECT pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(database);
      const { rows } = await sql`SELECT 1 FROM pg_namespace WHERE nspname = 'trinity'`.execute(
        database,
      );
      if (rows.length === 0) await run(database, 'CREATE SCHEMA trinity');
      await migrate(database, 'postgres', place.text);
    },
    { notifies: () => false },
  );

async function sizeBytes(database: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::double precision AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'trinity' AND c.relkind = 'r'`.execute(database);
  return rows[0]?.bytes ?? 0;
}
