import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { createExperience } from '@trinity-rft/core';
import { openSqlite } from '@trinity-rft/core/store';
import { afterAll, expect, it } from 'vitest';
import { ownDatabase } from './stored-experiences.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-own-database-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const experienceOf = (task: number) =>
  createExperience({ eid: { batch: 1, task }, tokens: [1, 2], promptLength: 1 });

it('copies the experiences of another run while that run writes, without its train steps', async () => {
  const database = path.join(root, 'other.db');
  const store = sqliteExperienceStore({ path: database });
  await store.put([1, 2, 3, 4].map(experienceOf), { step: 1 });
  await (await store.take(1))?.acknowledge(1, [new Float32Array([0.5])]);
  await (await store.take(1))?.acknowledge(2);
  await store.prune(1);
  const other = openSqlite(database);
  other.exec('BEGIN IMMEDIATE');
  const copy = sqliteExperienceStore({
    path: await ownDatabase(database, path.join(root, 'job'), false),
  });
  other.close();
  await store.close();
  await copy.rollback(0);
  expect(await copy.counts()).toEqual({ total: 3, waiting: 3, leased: 0, trained: 0 });
  const tasks = (await copy.take(3))?.experiences.map(({ eid }) => eid.task);
  expect(tasks).toEqual([2, 3, 4]);
  await copy.close();
});

it('copies again until the run has begun', async () => {
  const job = path.join(root, 'corrected');
  for (const count of [1, 3]) {
    const database = path.join(root, String(count), 'experience_buffer.db');
    const store = sqliteExperienceStore({ path: database });
    await store.put(Array.from({ length: count }, (_, task) => experienceOf(task)));
    await store.close();
    const copy = await ownDatabase(database, job, false);
    const opened = sqliteExperienceStore({ path: copy });
    expect((await opened.counts()).total).toBe(count);
    await opened.close();
    for (const log of ['-wal', '-shm']) writeFileSync(`${copy}${log}`, 'of a killed process');
  }
  const first = path.join(root, '1', 'experience_buffer.db');
  const kept = sqliteExperienceStore({ path: await ownDatabase(first, job, true) });
  expect((await kept.counts()).total).toBe(3);
  await kept.close();
});

it('trains on a database in the folder of the run, named through a link, and keeps its log', async () => {
  const job = path.join(root, 'served');
  mkdirSync(path.join(job, 'buffer'), { recursive: true });
  symlinkSync(path.join(job, 'buffer'), path.join(root, 'linked'));
  const file = path.join(job, 'buffer', 'experience_buffer.db');
  const writer = sqliteExperienceStore({ path: file });
  await writer.put([experienceOf(1), experienceOf(2)]);
  expect(existsSync(`${file}-wal`)).toBe(true);
  const linked = path.join(root, 'linked', 'experience_buffer.db');
  const own = await ownDatabase(linked, job, false);
  expect(existsSync(`${file}-wal`)).toBe(true);
  await writer.close();
  const trained = sqliteExperienceStore({ path: own });
  expect((await trained.counts()).total).toBe(2);
  await trained.close();
});

it('leaves an earlier copy and its log as they were if the next copy fails', async () => {
  const job = path.join(root, 'failing');
  const copy = path.join(job, 'buffer', 'experience_buffer.db');
  mkdirSync(path.dirname(copy), { recursive: true });
  for (const file of [copy, `${copy}-wal`]) writeFileSync(file, 'kept');
  const missing = path.join(root, 'none', 'experience_buffer.db');
  await expect(ownDatabase(missing, job, false)).rejects.toMatchObject({ code: 'BUFFER_COPY' });
  expect([copy, `${copy}-wal`].map((file) => existsSync(file))).toEqual([true, true]);
});

it('does not create a database that is missing', async () => {
  const database = path.join(root, 'missing.db');
  await expect(ownDatabase(database, path.join(root, 'job'), false)).rejects.toMatchObject({
    code: 'BUFFER_COPY',
  });
  expect(existsSync(database)).toBe(false);
});
