/** A connection to a PostgreSQL database that holds tasks or pairs. */
import type { Client } from 'pg';
import { parseJsonExactly } from '@trinity-rft/core/support';

/** Parses types that `pg` returns as text or rounds: int8, numeric, json and jsonb. */
const exactly = (text: string): unknown =>
  /^-?(?:NaN|Infinity)$/.test(text) ? text : parseJsonExactly(text);
const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map(
  [20, 1700, 114, 3802].map((type) => [type, exactly]),
);
const timeoutMs = 60_000;

/**
 * Calls `work` with a connection, and then closes the connection. Connecting and each query time
 * out after 60 s.
 */
export async function inPostgres<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    types: {
      getTypeParser: (type: number, format?: 'text' | 'binary') =>
        parsers.get(type) ?? pg.types.getTypeParser(type, format as never),
    },
  });
  // A broken connection rejects the query. Its `error` event, if unhandled, would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
