import { cpSync, mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BufferError, InvariantError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { openSqlite } from '@trinity-rft/core/store';
import { openTurnStore, type ServedCall } from '../src/index.js';
import { prepareSchema, prepareStatements } from '../src/turns/schema.js';
import { inChild } from './child.js';
import { databasePath, recorded } from './helpers.js';

const call = (msgId: string, ...tokens: readonly number[]): ServedCall => ({
  msgId,
  session: 's',
  experiences: [recorded(2, ...tokens)],
});

describe('the store of served calls', () => {
  it('belongs to one process at a time', async () => {
    const path = databasePath();
    const turns = await openTurnStore({ path });
    await expect(openTurnStore({ path })).rejects.toMatchObject({
      name: 'BufferError',
      code: 'SERVE_LOCKED',
    });
    await turns.close();
  });

  it.each([
    [
      'of another program',
      'SERVE_FOREIGN',
      (file: string) => new DatabaseSync(file).exec('CREATE TABLE other (id)'),
    ],
    ['that is none', 'SERVE_OPEN', (file: string) => mkdirSync(file)],
  ])('rejects a file %s', async (_, code, make) => {
    const file = databasePath();
    mkdirSync(path.dirname(file));
    make(file);
    const error: unknown = await openTurnStore({ path: file }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BufferError);
    expect(error).toMatchObject({ code, message: expect.stringContaining(file) as string });
  });

  it('of an earlier version gets checksums', async () => {
    const path = databasePath();
    const before = await openTurnStore({ path });
    for (const id of ['a', 'b']) await before.record(call(id, 3));
    await before.reward({ reward: 0.5, msgIds: ['a'], runId: 0 });
    await before.close();
    const earlier = new DatabaseSync(path);
    earlier.exec(`DROP TABLE stored_number; ALTER TABLE call DROP COLUMN checksum;
      ALTER TABLE fact DROP COLUMN checksum; PRAGMA user_version = 1`);
    earlier.close();
    rmSync(`${path}-commits`);
    const turns = await openTurnStore({ path });
    expect(await turns.counts()).toMatchObject({ total: 2, open: 1, ready: 1 });
    expect(await turns.startBatch(1)).toMatchObject({ calls: [{ msgId: 'a', reward: 0.5 }] });
    await turns.close();
    const version = new DatabaseSync(path).prepare('PRAGMA user_version').get();
    expect(version).toEqual({ user_version: 2 });
  });

  it('says how many confirmed commits a damaged log has lost', async () => {
    const path = databasePath();
    const turns = await openTurnStore({ path });
    for (const id of ['a', 'b', 'c']) {
      await turns.record(call(id, 3));
      await turns.reward({ reward: 0.5, msgIds: [id], runId: 0 });
    }
    // Copies the files in the state that a killed process leaves.
    const copy = databasePath();
    cpSync(path.replace(/calls.db$/, ''), copy.replace(/calls.db$/, ''), { recursive: true });
    await turns.close();
    const log = `${copy}-wal`;
    truncateSync(log, statSync(log).size - 1);
    await expect(openTurnStore({ path: copy })).rejects.toMatchObject({
      code: 'DATABASE_DAMAGED',
      message: expect.stringMatching(/lacks the last \d+ of \d+ commits/) as string,
    });
    rmSync(`${copy}-commits`);
    const again = await openTurnStore({ path: copy });
    expect(await again.counts()).toMatchObject({ total: expect.any(Number) as number });
    await again.close();
  });

  it('counts without reading the calls that were committed', () => {
    const database = openSqlite(':memory:');
    const { counts } = prepareStatements(database, prepareSchema(database, ':memory:'));
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${counts.sourceSQL}`).all();
    const scans = plan
      .map(({ detail }) => String(detail))
      .filter((line) => line.startsWith('SCAN'));
    expect(scans).toEqual([
      'SCAN CONSTANT ROW',
      expect.stringMatching(/INDEX open_calls$/),
      expect.stringMatching(/INDEX unsettled$/),
    ]);
    database.close();
  });

  it('forgets the oldest calls without a reward', async () => {
    const turns = await openTurnStore({ path: databasePath(), maxOpen: 10 });
    await Promise.all([
      turns.record(call('m0')),
      turns.reward({ reward: 1, msgIds: ['m0'], runId: 0 }),
    ]);
    await Promise.all(Array.from({ length: 255 }, (_, i) => turns.record(call(`m${i + 1}`))));
    expect(await turns.counts()).toMatchObject({ open: 10, ready: 1 });
    await expect(turns.reward({ reward: 1, msgIds: ['m1'], runId: 0 })).rejects.toMatchObject({
      name: 'ModelError',
      status: 404,
    });
    expect((await turns.reward({ reward: 1, msgIds: ['m255'], runId: 0 })).applied).toEqual([
      'm255',
    ]);
    await turns.close();
  });

  it('does what it is told at once in that order; a call that cannot be stored fails alone, one that is known changes nothing', async () => {
    const turns = await openTurnStore({ path: databasePath() });
    const misaligned = { ...recorded(2), logprobs: new Float32Array(9) };
    const outcomes = await Promise.allSettled([
      turns.reward({ reward: 1, msgIds: ['a'], runId: 0 }),
      turns.record(call('a', 7)),
      turns.record(call('b')),
      turns.record(call('a')),
      turns.record({ msgId: 'c', session: 's', experiences: [recorded(2), misaligned] }),
      turns.record(call('d')),
      turns.reward({ reward: 2, msgIds: ['d', 'a', 'b'], runId: 0 }),
      turns.startBatch(1),
      turns.finishBatch(1),
      turns.counts(),
    ]);
    const reasons = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as unknown) : 'done',
    );
    expect(reasons).toMatchObject([
      { status: 404, code: 'unknown_msg_ids', details: { msgIds: ['a'] } },
      'done',
      'done',
      'done',
      expect.any(InvariantError),
      ...Array.from({ length: 5 }, () => 'done'),
    ]);
    expect(outcomes[7]).toMatchObject({
      value: {
        step: 1,
        calls: [
          {
            msgId: 'a',
            reward: 2,
            experience: expect.objectContaining({ tokens: recorded(2, 7).tokens }),
          },
          { msgId: 'b' },
          { msgId: 'd' },
        ],
      },
    });
    expect(outcomes[9]).toMatchObject({ value: { total: 3, committed: 3 } });
    await turns.close();
  });

  it('does what it was told before it was closed, and nothing after', async () => {
    const path = databasePath();
    const turns = await openTurnStore({ path });
    const before = [
      turns.record(call('a')),
      turns.record(call('b')),
      turns.reward({ reward: 1, msgIds: ['a'], runId: 0 }),
    ];
    await Promise.all([turns.close(), turns.close()]);
    for (const late of [turns.record(call('c')), turns.counts()])
      await expect(late).rejects.toMatchObject({ name: 'BufferError', code: 'SERVE_CLOSED' });
    expect(turns.failed.aborted).toBe(false);
    await Promise.all(before);
    const again = await openTurnStore({ path });
    expect(await again.counts()).toMatchObject({ open: 1, ready: 1 });
    await again.close();
  });
});

describe('a process with a store', () => {
  it.each(['1', '40', '400'])(
    'loses nothing that was told to be stored when it is killed after %s calls',
    async (killAt) => {
      const path = databasePath();
      const { status, out, err } = await inChild(
        path,
        `let next = 0;
       const client = async () => { for (;;) { const id = next++; await turns.record(call('m' + id)); say('' + id); } };
       for (let i = 0; i < 8; i++) void client();`,
        { killAt: `\n${killAt}\n` },
      );
      expect([status, err]).toEqual(['SIGKILL', '']);
      const told = out.trim().split('\n');
      expect(told.length).toBeGreaterThan(Number(killAt) / 2);
      const turns = await openTurnStore({ path });
      const sessions = await Promise.all(told.map((id) => turns.sessionOf(`m${id}`)));
      expect(new Set(sessions)).toEqual(new Set(['s']));
      await turns.close();
    },
  );

  it.each([
    ['an open store', `await turns.record(call('a'));`],
    ['a store that still stores', `void turns.record(call('a'));`],
    ['a closed store', `void turns.record(call('a')); await turns.close();`],
    [
      'a store that somebody else has',
      `await turns.record(call('a')); await openTurnStore({ path: process.argv[1] }).catch(() => undefined);`,
    ],
  ])('ends by itself, with everything stored, with %s', async (_, script) => {
    const path = databasePath();
    expect(await inChild(path, script)).toEqual({ status: 0, out: '', err: '' });
    const turns = await openTurnStore({ path });
    expect(await turns.counts()).toMatchObject({ open: 1 });
    await turns.close();
  });

  it('continues when the thread of the store dies, reports it, and finds what was recorded when it opens the store again', async () => {
    const path = databasePath();
    const { status, out, err } = await inChild(
      path,
      `await turns.record(call('a'));
       const outcome = (promise) => promise.then(() => 'done', ({ name, code, details }) => [name, code, details.exitCode]);
       const told = await Promise.all([turns.record(call('b')), turns.counts(), turns.record(call('c'))].map(outcome));
       told.push(await outcome(turns.record(call('d'))), turns.failed.reason.code);
       await turns.close();
       const again = await openTurnStore({ path: process.argv[1] });
       say(JSON.stringify([...told, await again.counts()]));`,
      {
        preload: `
          import { DatabaseSync } from 'node:sqlite';
          import { existsSync, writeFileSync } from 'node:fs';
          import { isMainThread, workerData } from 'node:worker_threads';
          const { exec } = DatabaseSync.prototype;
          let commits = 0;
          DatabaseSync.prototype.exec = function (sql) {
            if (!isMainThread && sql === 'COMMIT' && ++commits === 3 && !existsSync(workerData.data.path + '-died')) {
              writeFileSync(workerData.data.path + '-died', '');
              process.exit(7);
            }
            return exec.call(this, sql);
          };`,
      },
    );
    expect([status, err]).toEqual([0, '']);
    const dead = ['BufferError', 'SERVE_THREAD', 7];
    expect(JSON.parse(out)).toEqual([
      ...['done', dead, 'done', dead, 'SERVE_THREAD'],
      { total: 3, open: 3, ready: 0, committed: 0 },
    ]);
  });
});

it('ends with what is wrong when calls cannot be stored, and keeps them', async () => {
  const path = databasePath();
  const { status, out, err } = await inChild(
    path,
    `await turns.record(call('a'));
     await new Promise((resolve) => turns.failed.addEventListener('abort', resolve));
     const late = await turns.record(call('b')).catch(({ code, message }) => [code, message]);
     await turns.close();
     say(JSON.stringify(late));`,
    {
      preload: `
        import { DatabaseSync } from 'node:sqlite';
        const { exec } = DatabaseSync.prototype;
        let commits = 0;
        DatabaseSync.prototype.exec = function (sql) {
          if (sql === 'COMMIT' && ++commits === 3) throw new Error('database or disk is full');
          return exec.call(this, sql);
        };`,
    },
  );
  expect([status, err, JSON.parse(out)]).toEqual([
    0,
    '',
    ['SERVE_STORAGE', expect.stringMatching(/disk is full.*They are kept/)],
  ]);
  const turns = await openTurnStore({ path });
  expect(await turns.counts()).toMatchObject({ total: 1 });
  await turns.close();
});
