import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeRunStore } from '@trinity-rft/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunDatabase } from './database/run-database.js';
import { memoryDatabase, sqliteDatabase } from './database/sqlite.js';
import { memoryRunStore } from './open-run-store.js';
import { runStore } from './run/run-store.js';
import { withCopies, type OnWrite } from '../../test/run-store/with-copies.js';

const leaseMs = 1000;

describeRunStore('in SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trinity-run-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let now = 0;
  const open = async (run: string, onWrite?: OnWrite) => {
    const database = await sqliteDatabase({ path: join(folder, 'run.db'), leaseClock: () => now });
    return runStore(withCopies(database, onWrite), { run, leaseMs }, database.close);
  };
  return {
    leaseMs,
    open: (onWrite) => open('run', onWrite),
    openOther: () => open('other'),
    pass: async (ms) => void (now += ms),
  };
});

/** Runs each transaction twice, like a driver that has lost the response to the first. */
const repeating = (database: RunDatabase): RunDatabase => ({
  ...database,
  write: async (what, work, options) => {
    await database.write(what, work, options);
    return database.write(what, work, options);
  },
});

describeRunStore('with every transaction repeated', async () => {
  let now = 0;
  const database = await memoryDatabase(() => now);
  onTestFinished(database.close);
  return {
    leaseMs,
    open: (onWrite) => runStore(withCopies(repeating(database), onWrite), { run: 'run', leaseMs }),
    openOther: () => runStore(repeating(database), { run: 'other', leaseMs }),
    pass: async (ms) => void (now += ms),
  };
});

describe('the clock of leases', () => {
  it.each([
    ['set back by a restart of the machine', -1e6, false],
    ['set back a little', -500, true],
    ['gone on', 999, true],
    ['jumped ahead', 1001, false],
  ])('%s', async (_what, by, isAlive) => {
    let now = 5e6;
    const shared = await memoryRunStore(() => now);
    onTestFinished(shared.close);
    const store = await shared.open({ run: 'run', leaseMs });
    const info = { role: 'explorer', name: 'a', host: 'h', pid: 1 } as const;
    await store.join(info);
    now += by;
    expect((await store.view()).members[0]?.isAlive).toBe(isAlive);
    const joined = store.join(info).then(
      () => true,
      () => false,
    );
    expect(await joined).toBe(!isAlive);
  });
});
