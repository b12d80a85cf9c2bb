/** The schema of a run store, and its migrations. */
import { BufferError } from '@trinity-rft/core';
import { sql, type Kysely } from 'kysely';
import { feedChecksum } from './checksums.js';
import { createTables } from './create-tables.js';
import type { Tables } from './tables.js';
import type { Kind } from './create-tables.js';

/**
 * Version of the tables. It increases with every change that makes the tables unusable for older
 * programs.
 */
const schemaVersion = 3;
/** Oldest version that can be read. What later versions added is not needed for reading. */
const oldestReadable = 1;

/** Migrations. The migration at index i leads from version i to version i + 1. */
const migrations: readonly ((database: Kysely<Tables>, kind: Kind) => Promise<void>)[] = [
  createTables,
  async (database) => {
    await database.schema.alterTable('run').addColumn('identity', 'text').execute();
  },
  async (database) => {
    await database.schema.alterTable('batch').addColumn('checksum', 'bigint').execute();
    // From this version on, the checksum also covers `is_last`.
    const last = database.selectFrom('run').selectAll().where('is_last', '=', 1);
    for (const { id, planned_step: step, feed, feed_checksum: before } of await last.execute()) {
      if (feed === null || Number(before) !== feedChecksum(step, feed, false)) continue;
      await database
        .updateTable('run')
        .set({ feed_checksum: feedChecksum(step, feed, true) })
        .where('id', '=', id)
        .execute();
    }
  },
];

/**
 * Creates the tables, or migrates the tables of an earlier version, within the caller's
 * transaction. The caller must prevent concurrent migrations by other processes.
 * @param place description of the run store for messages
 * @throws BufferError if the tables are from a newer version
 */
export async function migrate(database: Kysely<Tables>, kind: Kind, place: string): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)`.execute(database);
  const version = await versionOf(database, place);
  if (version === schemaVersion) return;
  for (const step of migrations.slice(version)) await step(database, kind);
  await sql`DELETE FROM schema_version`.execute(database);
  await sql`INSERT INTO schema_version (version) VALUES (${schemaVersion})`.execute(database);
}

/**
 * Checks the schema for readers. Changes nothing, and does not wait for writers.
 * @throws BufferError if there are no tables yet, or if they are from a newer version
 */
export async function assertSchema(
  database: Kysely<Tables>,
  kind: Kind,
  place: string,
): Promise<void> {
  const { rows: tables } = await found[kind].execute(database);
  if (tables.length === 0) throw missingError(place);
  if ((await versionOf(database, place)) < oldestReadable) throw missingError(place);
}

/**
 * Reads the version of the tables.
 * @throws BufferError if a newer version of this program created the tables
 */
async function versionOf(database: Kysely<Tables>, place: string): Promise<number> {
  const { rows } = await sql<{ version: number }>`SELECT version FROM schema_version`.execute(
    database,
  );
  const version = rows[0]?.version ?? 0;
  if (version > schemaVersion) throw newerSchema(place, version);
  return version;
}

/** Queries that return a row if the tables exist, keyed by the kind of database. */
const found = {
  sqlite: sql`SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'`,
  postgres: sql`SELECT 1 FROM pg_tables WHERE schemaname = 'trinity' AND tablename = 'schema_version'`,
} as const;

export const missingError = (place: string): BufferError =>
  new BufferError(`${place} does not exist. Start its trainer or an explorer first.`, {
    code: 'STORE_MISSING',
  });

const newerSchema = (place: string, version: number): BufferError =>
  new BufferError(
    `${place} has the run store schema version ${version}; this program knows versions up to ${schemaVersion}. Use the version of Trinity-RFT that wrote it, or another database.`,
    { code: 'STORE_VERSION' },
  );
