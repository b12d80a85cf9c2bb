import { execFile, fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { createExperience } from '@trinity-rft/core';
import type { Membership, RunStore } from '@trinity-rft/core/store';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { feedChecksum } from '../../src/run-store/database/checksums.js';
import { openRunStore, readRunStore } from '../../src/run-store/index.js';

const register = new URL('../../../../tools/register-source.mjs', import.meta.url).href;
const explorer = join(import.meta.dirname, 'explorer-process.ts');
const fullDisk = join(import.meta.dirname, 'full-disk-process.ts');

describe('a run store in SQLite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trinity-run-store-'));
    path = join(folder, 'run.db');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  });

  const opened = async (): Promise<RunStore> => {
    const store = await openRunStore({ url: path, run: 'r' });
    onTestFinished(() => store.close());
    return store;
  };
  const planned = async (store: RunStore, count: number): Promise<Membership> => {
    const member = await store.join({ role: 'trainer', name: 't', host: 'h', pid: 1 });
    const tasks = Array.from({ length: count }, (_, task) => ({ task, taskset: 't', row: task }));
    const batch = { batch: '1', step: 1, isEval: false, version: undefined, tasks };
    await store.plan(member, { step: 1, batches: [batch], feed: { cursor: 1 } });
    return member;
  };
  const start = (name: string): ChildProcess =>
    fork(explorer, [path, name], {
      execArgv: ['--conditions=@trinity-rft/source', `--import=${register}`],
    });
  const ended = (child: ChildProcess) => new Promise((resolve) => child.once('exit', resolve));

  it(
    'gives every task to one of several processes, and those of a killed one to others',
    { timeout: 120_000 },
    async () => {
      const store = await opened();
      await planned(store, 300);
      const [killed, ...others] = ['a', 'b', 'c'].map(start);
      const exits = others.map(ended);
      await new Promise((resolve) => killed?.once('message', resolve));
      await expect
        .poll(async () => (await store.view()).tasks.done, { interval: 5 })
        .toBeGreaterThan(5);
      killed?.kill('SIGKILL');
      expect(await Promise.all(exits)).toEqual([0, 0]);
      expect(await store.view()).toMatchObject({
        tasks: { open: 0, leased: 0, done: 300 },
        experiences: { total: 300, waiting: 300 },
      });
      expect(await store.batchesCompletedAfter(0)).toHaveLength(1);
    },
  );

  it.skipIf(process.platform === 'win32')(
    'keeps whole what it has when the disk of one process is full, and serves the others',
    async () => {
      const store = await opened();
      // A limit on the file size acts like a full disk.
      const { stdout } = await promisify(execFile)('bash', [
        ...['-c', 'trap "" XFSZ; ulimit -f 400; exec "$@"', 'bash', process.execPath],
        ...['--conditions=@trinity-rft/source', `--import=${register}`, fullDisk, path],
      ]);
      const { planned, failure, plannedUpTo } = JSON.parse(stdout);
      expect(failure).toMatch(/run\.db could not plan an explore step, and nothing was changed/);
      expect(plannedUpTo).toBe(planned);
      const member = await store.join({ role: 'explorer', name: 'a', host: 'h', pid: 1 });
      const count = 100 * planned;
      expect(await store.leaseTasks(member, { count: Infinity, maxStep: Infinity })).toHaveLength(
        count,
      );
      const next = { step: planned + 1, batches: [], feed: {} };
      expect(await store.plan(member, next)).toBe(true);
    },
  );

  it('finishes what it was told to write when it is closed', async () => {
    const store = await opened();
    const member = await planned(store, 1);
    const state = { waits: [], version: 0, facts: {} };
    const beats = Array.from({ length: 20 }, () => store.heartbeat(member, state));
    await store.close();
    await expect(Promise.all(beats)).resolves.toHaveLength(20);
  });

  it('reads a last step that an earlier version planned, and plans the next one', async () => {
    const store = await opened();
    const member = await planned(store, 1);
    const database = new DatabaseSync(path);
    onTestFinished(() => database.close());
    const checksum = feedChecksum(1, '{"cursor":1}', true);
    database.exec(`UPDATE run SET is_last = 1, feed_checksum = ${checksum}`);
    expect(await store.lastPlan()).toEqual({ step: 1, feed: { cursor: 1 } });
    await store.plan(member, { step: 2, batches: [], feed: { cursor: 2 } });
    expect(await store.lastPlan()).toEqual({ step: 2, feed: { cursor: 2 } });
  });

  it('refuses what was changed on the disk', async () => {
    const store = await opened();
    const trainer = await planned(store, 1);
    const [task] = await store.leaseTasks(trainer, { count: 1, maxStep: 1 });
    if (!task) throw new RangeError('There is a task.');
    const eid = { batch: '1', task: 0, run: 0, step: 0, suffix: 'a' };
    const experience = createExperience({ eid, tokens: [1, 2, 3], promptLength: 1 });
    await store.storeResult(trainer, task, { experiences: [experience], outcome: { right: true } });
    await store.recordTrainStep(trainer, { trainStep: 1, trained: ['1/0/0/0/a'], discarded: [] });
    await store.putWeightFile(trainer, { version: 1, path: 'w', bytes: new Uint8Array([1, 2, 3]) });
    const damaged = { code: 'STORE_DAMAGED' };
    const database = new DatabaseSync(path);
    database.exec('PRAGMA busy_timeout = 5000');
    const withChange = async (table: string, change: string, call: () => Promise<unknown>) => {
      await call();
      database.exec(`CREATE TEMP TABLE kept AS SELECT rowid AS kept_id, * FROM ${table}`);
      database.exec(`UPDATE ${table} SET ${change}`);
      await expect(call()).rejects.toMatchObject(damaged);
      const column = change.split(' ')[0];
      database.exec(
        `UPDATE ${table} SET ${column} = (SELECT ${column} FROM kept WHERE kept_id = ${table}.rowid); DROP TABLE kept`,
      );
      await call();
    };
    const read = () => store.readBatch('1');
    const flipped = "CAST(substr(bytes, 1, 2) || X'07' || substr(bytes, 4) AS BLOB)";
    await withChange('experience', `bytes = ${flipped}`, read);
    await withChange('experience', 'policy_version = 7', read);
    await withChange('task', `outcome = '{"right":null}'`, read);
    await withChange('run', `feed = '{"cursor":2}'`, () => store.lastPlan());
    await withChange('use', `uid = '1/0/0/0/b'`, () => store.trainRecordsAfter(0));
    await withChange('use', `is_kept = 1`, () => store.trainRecordsAfter(0));
    await withChange('file', `bytes = X'010203FF'`, () => store.getWeightFile(1, 'w'));
    await withChange('task', 'row_number = 1', read);
    await withChange('batch', 'version = 3', read);
    await withChange('run', 'is_last = 1', () => store.lastPlan());
    const come = async () =>
      store.leave(await store.join({ role: 'explorer', name: 'e', host: 'h', pid: 1 }));
    for (const change of ['batches = 2', 'completed = 0']) await withChange('run', change, come);
    for (const change of ['completed = 2', 'completed = NULL', 'open = 1'])
      await withChange('batch', change, come);
    await withChange('task', 'state = 0', come);
    database.close();
  });

  it('is looked at while another process keeps it locked, and says what it waits for', async () => {
    const run = 'r';
    await planned(await opened(), 1);
    const stopped = new DatabaseSync(path);
    stopped.exec('BEGIN IMMEDIATE');
    const reader = await readRunStore({ url: path, run });
    expect((await reader?.view())?.members).toHaveLength(1);
    await reader?.close();
    expect(await readRunStore({ url: path, run: 'another' })).toBeUndefined();
    await expect(openRunStore({ url: path, run, patienceMs: 10 })).rejects.toThrow(
      /run\.db has been locked by another process for \d+ s: .*Let it go on or end it/,
    );
    stopped.close();
  });

  it('is looked at without a trace in its folder', async () => {
    const store = await openRunStore({ url: path, run: 'r' });
    await store.close();
    for (const name of readdirSync(folder)) if (name !== 'run.db') rmSync(join(folder, name));
    const reader = await readRunStore({ url: path, run: 'r' });
    expect((await reader?.view())?.members).toEqual([]);
    await reader?.close();
    await expect(readRunStore({ url: join(folder, 'a', 'b.db'), run: 'r' })).rejects.toThrow(
      /b\.db does not exist/,
    );
    expect(readdirSync(folder)).toEqual(['run.db']);
  });

  it('refuses a file that is not its own, newer, missing or replaced', async () => {
    const open = (file: string) => openRunStore({ url: file, run: 'r' });
    const look = (file: string) => readRunStore({ url: file, run: 'r' });
    const other = join(folder, 'other.db');
    const foreign = new DatabaseSync(other);
    foreign.exec('CREATE TABLE songs (title TEXT)');
    foreign.close();
    await expect(open(other)).rejects.toThrow(/other\.db is a database of another program/);
    const text = join(folder, 'text.db');
    writeFileSync(text, 'not a database at all, but long enough to be read as one'.repeat(20));
    await expect(look(other)).rejects.toThrow(/other\.db is a database of another program/);
    await expect(open(text)).rejects.toThrow(/text\.db cannot be opened.*not a database/);
    await expect(look(join(folder, 'none.db'))).rejects.toThrow(/none\.db does not exist/);
    await expect(open(join(text, 'below.db'))).rejects.toThrow(/cannot be opened/);
    const store = await open(path);
    renameSync(path, `${path}.moved`);
    await expect(planned(store, 1)).rejects.toMatchObject({ code: 'STORE_GONE' });
    renameSync(`${path}.moved`, path);
    await planned(store, 1);
    await store.close();
    const database = new DatabaseSync(path);
    database.exec('UPDATE schema_version SET version = 7');
    database.close();
    for (const opening of [open, look])
      await expect(opening(path)).rejects.toThrow(/run\.db has .*version 7.*up to 3/);
  });
});
