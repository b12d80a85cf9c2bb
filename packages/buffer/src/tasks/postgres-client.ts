/** Connects to a PostgreSQL database that holds tasks or pairs. */
import type { Client } from 'pg';
import { parseJsonExactly } from '@trinity-rft/core/support';

type Parse = (text: string) => unknown;

/** Parses a number or JSON without losing digits. A whole number beyond 2^53 becomes a string. */
const exactly: Parse = (text) =>
  /^-?(?:NaN|Infinity)$/.test(text) ? text : parseJsonExactly(text);
/**
 * Returns the text of a time unchanged, as SQLite does. `pg` itself would interpret times without a
 * zone as local time.
 */
const unchanged: Parse = (text) => text;

/**
 * Types whose values `pg` would round or interpret in local time, each with the id of its array
 * type and a parser.
 */
const types: readonly { readonly oid: number; readonly array: number; readonly parse: Parse }[] = [
  { oid: 20, array: 1016, parse: exactly }, // int8
  { oid: 1700, array: 1231, parse: exactly }, // numeric
  { oid: 114, array: 199, parse: exactly }, // json
  { oid: 3802, array: 3807, parse: exactly }, // jsonb
  { oid: 1082, array: 1182, parse: unchanged }, // date
  { oid: 1114, array: 1115, parse: unchanged }, // timestamp
];
const textArray = 1009;

/**
 * Returns parsers for `types`, keyed by type id.
 * @param split function that splits an array literal into strings and nulls
 */
const parsersOf = (split: Parse): ReadonlyMap<number, Parse> =>
  new Map(
    types.flatMap(({ oid, array, parse }): [number, Parse][] => {
      const parseItem = (item: unknown): unknown =>
        Array.isArray(item) ? item.map(parseItem) : typeof item === 'string' ? parse(item) : item;
      return [
        [oid, parse],
        [array, (text) => parseItem(split(text))],
      ];
    }),
  );
const timeoutMs = 60_000;

/**
 * Calls `work` with a connection, and then closes the connection. Connecting and each query time
 * out after 60 s.
 */
export async function inPostgres<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const parsers = parsersOf(pg.types.getTypeParser(textArray as never));
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
