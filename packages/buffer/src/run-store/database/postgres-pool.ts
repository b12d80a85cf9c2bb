/** A pool of connections to PostgreSQL. If a response is lost, its connection is discarded. */
import { sleep, systemClock, type Clock } from '@trinity-rft/core';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type { Client, ClientConfig, Pool, PoolClient } from 'pg';
import { isLostConnection, type PostgresPlace } from './postgres-errors.js';
import type { Patience } from './run-database.js';

export interface Connections {
  readonly pool: PostgresPool;
  readonly place: PostgresPlace;
  /** Opens a connection outside the pool. */
  readonly connect: () => Promise<Client>;
}

export async function connectPool(options: PostgresOptions): Promise<Connections> {
  const { url, answerMs = 30_000, maxConnections = 8 } = options;
  const { default: pg } = await import('pg');
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'trinity',
    connectionTimeoutMillis: Math.min(answerMs, 10_000),
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      // INT8 columns hold counts and checksums, which are below 2^53.
      getTypeParser: (oid: number, format?: 'text') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
    } as ClientConfig['types'],
  };
  const pool = new pg.Pool({ ...config, max: maxConnections });
  // Ignored, because the pool replaces idle connections that fail.
  pool.on('error', () => undefined);
  const { host, port, database = '', user = '' } = new pg.Client(config);
  const wrapped = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    place: placeOf({ host, port, database, user }),
    pool: {
      connect: async () => {
        const client = await pool.connect();
        const known = wrapped.get(client) ?? wrap(client);
        wrapped.set(client, known);
        return known;
      },
      end: () => endOf(pool),
      options: {},
    },
    connect: async () => {
      const client = new pg.Client(config);
      // Without a listener, an error would end the operating-system process. The caller adds
      // another listener.
      client.on('error', () => undefined);
      await client.connect();
      return client;
    },
  };
}

/**
 * Maximum number of milliseconds for closing. An unreachable server must not prevent a process from
 * ending.
 */
const endWithinMs = 2000;

async function endOf(pool: Pool): Promise<void> {
  const late = new AbortController();
  const patience = sleep(systemClock, endWithinMs, late.signal).catch(() => undefined);
  await Promise.race([pool.end(), patience]);
  late.abort();
}

interface Server {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

const placeOf = ({ host, port, database, user }: Server): PostgresPlace => ({
  server: `${host}:${port}`,
  database,
  user,
  text: `The run store in PostgreSQL at ${host}:${port}, database ${database},`,
});

function wrap(client: PoolClient): PostgresPoolClient {
  let isLost = false;
  client.on('error', () => (isLost = true));
  const query = async (statement: string, parameters: unknown[]): Promise<unknown> => {
    try {
      return await client.query(statement, parameters);
    } catch (error) {
      isLost ||= isLostConnection(error);
      throw error;
    }
  };
  return { query: query as PostgresPoolClient['query'], release: () => client.release(isLost) };
}

export interface PostgresOptions extends Patience {
  /**
   * Connection URL: `postgresql://user:password@host:port/database`; missing parts are read from
   * `PG*` variables.
   */
  readonly url: string;
  /** True for read-only access, which creates and changes nothing. @default false */
  readonly isReader?: boolean;
  /** Maximum time in milliseconds to wait for a response from the server. @default 30_000 */
  readonly answerMs?: number;
  /** Maximum number of connections, in addition to the connection that listens. @default 8 */
  readonly maxConnections?: number;
  readonly clock?: Pick<Clock, 'after'>;
}
