import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createExperience } from '@trinity-rft/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
    /schema version 99; this program reads up to 1/,
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

it('lets others read while it is open', async () => {
  const store = sqliteExperienceStore({ path });
  await store.put([experience(0)]);
  const reader = new DatabaseSync(path, { readOnly: true });
  expect(reader.prepare('SELECT count(*) AS count FROM experience').get()).toEqual({ count: 1 });
  reader.close();
  await store.close();
});
