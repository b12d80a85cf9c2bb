import { setTimeout as sleep } from 'node:timers/promises';
import { createExperience, uid } from '@trinity-rft/core';
import type { ExplorePlan, Membership, RunStore } from '@trinity-rft/core/store';
import { findPostgres, startPostgres, type TestPostgres } from '@trinity-rft/test-support';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { postgresDatabase } from '../../src/run-store/database/postgres.js';
import { type PostgresOptions } from '../../src/run-store/database/postgres-pool.js';
import { openRunStore } from '../../src/run-store/index.js';
import { runStore } from '../../src/run-store/run/run-store.js';
import { faultyProxy } from './faulty-proxy.js';

describe.skipIf(findPostgres() === undefined)('a run store in PostgreSQL', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_connections: 20 } });
  });
  afterAll(() => server.stop());

  const secret = () => encodeURIComponent(server.password);
  const failure = async (url: string): Promise<string> => {
    const opening = openRunStore({ url, run: 'r', patienceMs: 300 });
    const error: unknown = await opening.catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Error);
    return (error as Error).message;
  };

  it('says what is wrong with an address, and never the password', async () => {
    const { port } = server;
    const cases = [
      [
        `postgresql://trinity:wrong-one@127.0.0.1:${port}/postgres`,
        /user trinity .*wrong password/,
      ],
      [
        `postgresql://trinity:${secret()}@127.0.0.1:${port}/nothing`,
        /no database nothing.*createdb/,
      ],
      [
        `postgresql://trinity:wrong-one@127.0.0.1:1/postgres`,
        /127\.0\.0\.1:1.*ECONNREFUSED.*tried for/,
      ],
      [`postgresql://trinity:wrong-one@127.0.0.1:1`, /names no database/],
      [`mysql://trinity:wrong-one@127.0.0.1/a`, /begins with "mysql:"/],
    ] as const;
    for (const [url, expected] of cases) {
      const message = await failure(url);
      expect(message).toMatch(expected);
      expect(message).not.toMatch(/wrong-one|secret/);
    }
  });

  it('refuses a schema of a newer version, and names both', async () => {
    await query('CREATE DATABASE newer');
    await (await openRunStore({ url: server.url('newer'), run: 'r' })).close();
    await query('UPDATE trinity.schema_version SET version = 99', 'newer');
    expect(await failure(server.url('newer'))).toMatch(/database newer, .*version 99.*up to 3/);
  });

  it('tells a user without rights what to grant', async () => {
    await query('CREATE DATABASE guarded');
    await query("CREATE ROLE guest LOGIN PASSWORD 'guest'");
    const message = await failure(`postgresql://guest:guest@127.0.0.1:${server.port}/guarded`);
    expect(message).toMatch(/GRANT CREATE ON DATABASE guarded TO guest/);
  });

  it('waits for a connection when the server has none left, and says so', async () => {
    await query('CREATE DATABASE crowded');
    await query('GRANT ALL ON DATABASE crowded TO guest');
    const url = `postgresql://guest:guest@127.0.0.1:${server.port}/crowded`;
    const others: pg.Client[] = [];
    for (let isFull = false; !isFull;) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      isFull = await client.connect().then(
        () => others.push(client) < 0,
        () => true,
      );
    }
    expect(await failure(url)).toMatch(/no connection left.*max_connections/);
    const notices: string[] = [];
    const opening = openRunStore({ url, run: 'r', onNotice: (text) => notices.push(text) });
    await expect.poll(() => notices.length).toBe(1);
    await Promise.all(others.map((client) => client.end()));
    await (await opening).close();
    expect(notices.at(-1)).toMatch(/answers again/);
  });

  it(
    'loses and repeats nothing while the network and the server fail',
    { timeout: 120_000 },
    async () => {
      await query('CREATE DATABASE faulty');
      const proxy = await faultyProxy(server.port);
      onTestFinished(proxy.close);
      const notices: string[] = [];
      const url = server.url('faulty').replace(`:${server.port}/`, `:${proxy.port}/`);
      const open = async (): Promise<RunStore> => {
        const options: PostgresOptions = {
          url,
          answerMs: 400,
          onNotice: (text) => notices.push(text),
        };
        const database = await postgresDatabase(options);
        return runStore(database, { run: 'r', leaseMs: 120_000 }, database.close);
      };
      const stores = await Promise.all([open(), open(), open()]);
      onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
      const [one, two, three] = stores as [RunStore, RunStore, RunStore];
      const trainer = await one.join({ role: 'trainer', name: 't', host: 'h', pid: 1 });
      for (let step = 1; step <= steps; step++) await one.plan(trainer, planOf(step));
      const faults = async (): Promise<void> => {
        proxy.set('half an answer');
        await sleep(60);
        proxy.set('half a request');
        await sleep(60);
        proxy.cut();
        proxy.set({ delayMs: 20 });
        await sleep(300);
        proxy.set('swallow');
        await sleep(500);
        proxy.set('none');
        await sleep(50);
        await server.restart();
      };
      const training = train(one, trainer);
      await Promise.all([explore(two, 'a'), explore(three, 'b'), training, faults()]);
      const { rows } = await query(
        `SELECT (SELECT count(*) FROM trinity.experience)::int AS experiences,
                (SELECT count(*) FROM trinity.use)::int AS uses,
                (SELECT count(DISTINCT uid) FROM trinity.use)::int AS used,
                (SELECT count(*) FROM trinity.task WHERE state = 2)::int AS done`,
        'faulty',
      );
      const all = steps * tasks;
      expect(rows).toEqual([{ experiences: all, uses: all, used: all, done: all }]);
      expect(notices.some((text) => /cannot be reached.*Trying again for 60 s/.test(text))).toBe(
        true,
      );
      expect(notices.at(-1)).toMatch(/answers again/);
    },
  );

  it('can be closed while the server is silent, and notices it', async () => {
    await query('CREATE DATABASE silent');
    const proxy = await faultyProxy(server.port);
    onTestFinished(proxy.close);
    const url = server.url('silent').replace(`:${server.port}/`, `:${proxy.port}/`);
    const notices: string[] = [];
    const options = { url, answerMs: 500, onNotice: (text: string) => notices.push(text) };
    const database = await postgresDatabase(options);
    const store = await runStore(database, { run: 'r' }, database.close);
    proxy.set('swallow');
    const viewed = store.view().then(() => 'an answer', String);
    await expect.poll(() => notices.join()).toMatch(/cannot be reached.*timeout.*for 60 s/);
    await store.close();
    expect(await viewed).toMatch(/timeout/);
  });

  const query = async (text: string, database?: string): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: server.url(database) });
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  };
});

const [steps, tasks] = [12, 10];

const planOf = (step: number): ExplorePlan => ({
  step,
  batches: [
    {
      batch: String(step),
      step,
      isEval: false,
      version: undefined,
      tasks: Array.from({ length: tasks }, (_, task) => ({ task, taskset: 't', row: task })),
    },
  ],
  feed: { step },
});

/** Explores until no task is open. */
async function explore(store: RunStore, name: string): Promise<void> {
  const member = await store.join({ role: 'explorer', name, host: 'h', pid: 1 });
  for (;;) {
    const leased = await store.leaseTasks(member, { count: 2, maxStep: steps });
    if (leased.length === 0) return;
    for (const each of leased) {
      await sleep(10);
      const { batch, task } = each;
      const eid = { batch, task, run: 0, step: 0, suffix: 'a' };
      const experience = createExperience({ eid, tokens: [1, 2], promptLength: 1 });
      const result = { experiences: [experience], outcome: {} };
      expect(await store.storeResult(member, each, result)).toBe('stored');
    }
  }
}

/** Makes one train step per batch, in the order of completion. */
async function train(store: RunStore, trainer: Membership): Promise<void> {
  for (let trainStep = 1; trainStep <= steps;) {
    const [next] = await store.batchesCompletedAfter(trainStep - 1);
    if (!next) {
      await store.waitForChange(500);
      continue;
    }
    const { results } = await store.readBatch(next.batch);
    const trained = results.flatMap(({ experiences }) => experiences).map(({ eid }) => uid(eid));
    await store.recordTrainStep(trainer, { trainStep, trained, discarded: [] });
    trainStep += 1;
  }
}
