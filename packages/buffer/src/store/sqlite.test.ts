import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createExperience } from '@trinity-rft/core';
import { encodeExperience } from '@trinity-rft/core/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readExperiences } from './read-experiences.js';
import { sqliteExperienceStore } from './sqlite.js';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'trinity-sqlite-')), 'experiences.db');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true, force: true }));

const experience = (task: number) =>
  createExperience({ eid: { batch: 1, task }, tokens: [1, 2], promptLength: 1 });

function edit(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

it('rejects a file that is not a database, naming it', () => {
  writeFileSync(path, 'this is a text file and not a database, whatever its name says'.repeat(40));
  expect(() => sqliteExperienceStore({ path })).toThrow(
    /experiences\.db cannot be opened: file is not a database/,
  );
});

it("rejects another program's database, and leaves it as it was", () => {
  edit('CREATE TABLE mine (x)');
  expect(() => sqliteExperienceStore({ path })).toThrow(/is a database of another program/);
  edit('INSERT INTO mine VALUES (1); SELECT * FROM mine');
});

it('rejects a store from a newer version', async () => {
  await sqliteExperienceStore({ path }).close();
  edit('PRAGMA user_version = 99');
  expect(() => sqliteExperienceStore({ path })).toThrow(
    /schema version 99; this program reads up to 4/,
  );
});

it('rejects a place where nothing can be written', () => {
  writeFileSync(path, 'a file where a folder is needed');
  expect(() => sqliteExperienceStore({ path: join(path, 'experiences.db') })).toThrow(
    /cannot be opened: .*EEXIST|ENOTDIR/,
  );
});

it('can be opened after an opening that failed', async () => {
  edit('CREATE TABLE mine (x)');
  expect(() => sqliteExperienceStore({ path })).toThrow(/another program/);
  edit('DROP TABLE mine; VACUUM');
  await sqliteExperienceStore({ path }).close();
});

it('says so when stored bytes are damaged, and keeps the others', async () => {
  const store = sqliteExperienceStore({ path });
  await store.put([experience(0), experience(1)]);
  await store.close();
  edit("UPDATE experience SET bytes = x'00' WHERE id = 1");
  const damaged = sqliteExperienceStore({ path });
  await expect(damaged.take(2)).rejects.toMatchObject({ name: 'BufferError' });
  expect(await damaged.counts()).toMatchObject({ waiting: 2, leased: 0 });
  await damaged.close();
});

describe('a store that something else has changed', () => {
  /** Three experiences, of which train step 1 used the first. */
  async function stored(): Promise<void> {
    const store = sqliteExperienceStore({ path });
    await store.put([experience(0), experience(1), experience(2)], { step: 1 });
    await (await store.take(1))!.acknowledge(1);
    await store.close();
  }

  it.each([
    [
      'a bit of the bytes',
      "bytes = CAST(substr(bytes, 1, 20) || x'7f' || substr(bytes, 22) AS BLOB)",
    ],
    ['its uid', "uid = '9/9/9/9/'"],
    ['its policy version', 'policy_version = 3'],
    ['its place', 'id = 20'],
  ])('refuses an experience of which %s differs', async (_what, change) => {
    await stored();
    edit(`UPDATE experience SET ${change} WHERE id = 3`);
    const store = sqliteExperienceStore({ path });
    await expect(store.take(2)).rejects.toMatchObject({
      code: 'BUFFER_DAMAGED',
      message: expect.stringMatching(/^Experience \d+ \(.*\) has been changed since it was stored/),
    });
    await store.close();
    const reader = readExperiences(path);
    expect(() => [...reader.experiences()]).toThrow('differs from its checksum');
    reader.close();
  });

  it.each([
    [
      'an experience that nobody trained on',
      'DELETE FROM experience WHERE id = 2',
      /has 2 experiences, and 3 were stored/,
    ],
    [
      'what a train step used',
      'DELETE FROM used',
      /has 0 records of what was trained on, and 1 were stored/,
    ],
    [
      'the step that used an experience',
      'UPDATE used SET train_step = 7',
      /The record that train step 7 used experience 1 has been changed/,
    ],
    [
      'how many there are',
      "UPDATE state SET json = replace(json, '3', '2') WHERE name = 'ledger'",
      /The stored state "ledger" has been changed/,
    ],
  ])('is not opened when %s is not as it was', async (_what, sql, said) => {
    await stored();
    edit(sql);
    expect(() => sqliteExperienceStore({ path })).toThrow(said);
  });

  it('does not believe another state of the explorer', async () => {
    await stored();
    edit(`UPDATE state SET json = '{"step":2}' WHERE name = 'explorer'`);
    const store = sqliteExperienceStore({ path });
    await expect(store.explorerState()).rejects.toThrow(
      'The stored state "explorer" has been changed',
    );
    await store.close();
  });
});

it('keeps its numbers when a train step is taken back', async () => {
  const store = sqliteExperienceStore({ path });
  await store.put([experience(0), experience(1), experience(2)]);
  for (const step of [1, 2]) await (await store.take(1))!.acknowledge(step);
  await store.rollback(1);
  expect(await store.counts()).toEqual({ total: 3, waiting: 2, leased: 0, trained: 1 });
  await store.close();
  const again = sqliteExperienceStore({ path });
  expect(await again.counts()).toEqual({ total: 3, waiting: 2, leased: 0, trained: 1 });
  await again.close();
});

it('deletes what was trained on, counts it still, and never gives an id twice', async () => {
  const store = sqliteExperienceStore({ path });
  await store.put([0, 1, 2].map(experience));
  for (const step of [1, 2, 3]) await (await store.take(1))!.acknowledge(step);
  await store.prune(2);
  expect(await store.counts()).toEqual({ total: 3, waiting: 0, leased: 0, trained: 3 });
  await store.prune(3);
  await store.close();
  const again = sqliteExperienceStore({ path });
  await again.put([experience(3)]);
  expect(await again.counts()).toEqual({ total: 4, waiting: 1, leased: 0, trained: 3 });
  await again.close();
  const reader = readExperiences(path);
  expect(reader.rowsAfter(0, 9)).toEqual([{ id: 4, experience: experience(3) }]);
  reader.close();
});

it.each(['removed', 'replaced'])('notices at the next write that its file was %s', async (what) => {
  const store = sqliteExperienceStore({ path });
  await store.put([experience(0)]);
  rmSync(path);
  if (what === 'replaced') writeFileSync(path, '');
  await expect(store.put([experience(1)])).rejects.toMatchObject({
    code: 'BUFFER_GONE',
    message: expect.stringContaining(`${path} has been ${what} while it was in use`),
  });
  await store.close();
});

it('leaves no connection open if the store belongs to another run', async () => {
  const owner = { folder: '/run', hasBegun: false, isAt: () => false };
  const store = sqliteExperienceStore({ path, owner: { ...owner, id: 'one' } });
  await store.put([experience(0)]);
  await store.close();
  expect(() => sqliteExperienceStore({ path, owner: { ...owner, id: 'other' } })).toThrow(
    'are those of the run in',
  );
  // SQLite removes the file with the last connection.
  expect(existsSync(`${path}-wal`)).toBe(false);
});

it('reads a store of version 1, which has no checksums, and adds them to what comes', async () => {
  edit(version1);
  const bytes = encodeExperience(experience(0));
  const database = new DatabaseSync(path);
  database.prepare('INSERT INTO experience VALUES (1, ?, 0, ?)').run('1/0/0/0/', bytes);
  database.exec(
    `INSERT INTO used VALUES (1, 4, 0); INSERT INTO state VALUES ('explorer', '{"step":1}')`,
  );
  database.close();
  const reader = readExperiences(path);
  expect([...reader.experiences()]).toEqual([experience(0)]);
  reader.close();
  const notices: string[] = [];
  const store = sqliteExperienceStore({ path, onNotice: (text) => notices.push(text) });
  expect(notices).toEqual([
    `${path} was written by an earlier version: 1 experiences have no checksum, so changes of them would not be noticed.`,
  ]);
  expect(await store.explorerState()).toEqual({ step: 1 });
  await store.put([experience(1)], { step: 2 });
  await store.rollback(3);
  const lease = (await store.take(2))!;
  expect(lease.experiences).toEqual([experience(0), experience(1)]);
  await lease.acknowledge(4);
  await store.prune(4);
  await store.close();
  await sqliteExperienceStore({ path, onNotice: (text) => notices.push(text) }).close();
  expect(notices).toHaveLength(1);
});

const version1 = `
  CREATE TABLE experience (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, policy_version INTEGER NOT NULL, bytes BLOB NOT NULL);
  CREATE TABLE used (id INTEGER PRIMARY KEY REFERENCES experience (id), train_step INTEGER NOT NULL, dropped INTEGER NOT NULL);
  CREATE TABLE state (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${0x54525842}; PRAGMA user_version = 1;`;

it('lets others read while it is open', async () => {
  const store = sqliteExperienceStore({ path });
  await store.put([experience(0)]);
  const reader = new DatabaseSync(path, { readOnly: true });
  expect(reader.prepare('SELECT count(*) AS count FROM experience').get()).toEqual({ count: 1 });
  reader.close();
  await store.close();
});
