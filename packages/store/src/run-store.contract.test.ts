import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeRunStore } from '@trinity-rft/testing';
import { onTestFinished } from 'vitest';
import { sqliteDatabase } from './database/sqlite.js';
import { memoryRunStore } from './internal.js';
import { runStore } from './run/run-store.js';

const leaseMs = 1000;

describeRunStore('in SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trinity-run-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let now = 0;
  const open = async (run: string) => {
    const database = await sqliteDatabase({ path: join(folder, 'run.db'), leaseClock: () => now });
    return runStore(database, { run, leaseMs }, database.close);
  };
  return {
    leaseMs,
    open: () => open('run'),
    openOther: () => open('other'),
    pass: async (ms) => void (now += ms),
  };
});

describeRunStore('in memory', async () => {
  let now = 0;
  const shared = await memoryRunStore(() => now);
  onTestFinished(shared.close);
  return {
    leaseMs,
    open: () => shared.open({ run: 'run', leaseMs }),
    openOther: () => shared.open({ run: 'other', leaseMs }),
    pass: async (ms) => void (now += ms),
  };
});
