import { describeRunStore } from '@trinity-rft/testing';
import { findPostgres, startPostgres, type TestPostgres } from '@trinity-rft/test-support';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe } from 'vitest';
import { runStore } from '../run/run-store.js';
import { withCopies, type OnWrite } from '../../../test/run-store/with-copies.js';
import { postgresDatabase } from './postgres.js';
import type { RunDatabase } from './run-database.js';

/** Lease time in ms, longer than any test, so that leases only end when a test says so. */
const leaseMs = 1_000_000;

describe.skipIf(findPostgres() === undefined)('PostgreSQL', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  let databases = 0;
  describeRunStore('in PostgreSQL', async () => {
    const name = `contract_${databases++}`;
    await createDatabase(server, name);
    let behind = 0;
    const open = async (run: string, onWrite?: OnWrite) => {
      const database = await postgresDatabase({ url: server.url(name), maxConnections: 3 });
      const aged: RunDatabase = {
        ...database,
        now: () => sql<number>`(${database.now()} + ${behind}::double precision)`,
      };
      return runStore(withCopies(aged, onWrite), { run, leaseMs }, database.close);
    };
    return {
      leaseMs,
      open: (onWrite) => open('run', onWrite),
      openOther: () => open('other'),
      pass: async (ms) => void (behind += ms),
    };
  });
});

async function createDatabase(server: TestPostgres, name: string): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
}
