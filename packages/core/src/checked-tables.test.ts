import {
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkedTables } from './checked-tables.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'checked-'));
  file = path.join(folder, 'store.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const schema = `
  CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value REAL, bytes BLOB);
  CREATE TABLE fact (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO fact VALUES ('step', 0);`;

function open(place = file) {
  const database = new DatabaseSync(place);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0');
  if (!database.prepare('SELECT 1 FROM sqlite_schema').get()) database.exec(schema);
  const tables = checkedTables(database, { path: place, tables: ['item', 'fact'] });
  return { database, tables, close: () => database.close() };
}

/** Twenty items, a third of them changed and a few deleted, in fifty commits. */
function fill({ database, tables }: ReturnType<typeof open>): void {
  const insert = database.prepare('INSERT INTO item (name, bytes) VALUES (?, ?)');
  for (let i = 0; i < 20; i++)
    tables.transaction(() => insert.run(`item ${i}`, new Uint8Array(300).fill(i)));
  for (let i = 1; i <= 20; i++)
    tables.transaction(() => {
      database.prepare('UPDATE item SET value = ? WHERE id = ?').run(i / 7, i);
      database.exec(`UPDATE fact SET value = ${i}`);
    });
  for (let i = 3; i < 6; i++)
    tables.transaction(() => database.exec(`DELETE FROM item WHERE id = ${i}`));
}

const rowsOf = ({ database }: ReturnType<typeof open>): unknown => [
  database.prepare('SELECT * FROM item ORDER BY id').all(),
  database.prepare('SELECT * FROM fact').all(),
];

/**
 * Rows of a copy of the database that a killed process has left, or the error when it is opened.
 */
function outcome(damage: (place: string) => void): unknown {
  const copy = path.join(folder, 'copy');
  for (const suffix of ['', '-wal', '-commits'])
    cpSync(file + suffix, copy + suffix, { force: true });
  damage(copy);
  let opened: ReturnType<typeof open> | undefined;
  try {
    opened = open(copy);
    opened.tables.verify();
    return rowsOf(opened);
  } catch (error) {
    return error;
  } finally {
    opened?.close();
    for (const suffix of ['', '-wal', '-shm', '-commits']) rmSync(copy + suffix, { force: true });
  }
}

function flip(place: string, share: number, bit: number): void {
  const bytes = readFileSync(place);
  bytes[Math.floor(bytes.length * share)]! ^= 1 << (bit % 8);
  writeFileSync(place, bytes);
}

describe('checked tables', () => {
  it.each([
    ['main file', ''],
    ['write-ahead log', '-wal'],
    ['number of commits', '-commits'],
  ])('are as they were stored after a flipped bit of the %s, or refused', (_what, suffix) => {
    const opened = open();
    fill(opened);
    if (suffix === '') opened.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const before = rowsOf(opened);
    expect(outcome(() => undefined)).toEqual(before);
    const count = 60;
    const outcomes = Array.from({ length: count }, (_, i) =>
      outcome((place) => flip(place + suffix, (i + 0.5) / count, i)),
    );
    opened.close();
    const refused = outcomes.filter((each) => each instanceof Error);
    for (const each of outcomes.filter((found) => !(found instanceof Error)))
      expect(each).toEqual(before);
    expect(refused.length).toBeGreaterThan(10);
  });

  it.each<readonly [string, (place: string) => void]>([
    ['without its end', (place) => truncateSync(`${place}-wal`, statSync(`${place}-wal`).size - 1)],
    ['removed', (place) => rmSync(`${place}-wal`)],
  ])('name the commits that were lost with the log %s', (_what, damage) => {
    const opened = open();
    fill(opened);
    expect(String(outcome(damage))).toMatch(/lacks the last \d+ of 43 commits.*delete .*-commits/);
    opened.close();
  });

  it.each([
    ['UPDATE item SET value = 9 WHERE id = 7', '1 of 17 rows of its table item have been changed'],
    ['DELETE FROM item WHERE id = 7', 'its table item has 16 rows, and 17 were stored'],
    ["INSERT INTO item (name) VALUES ('x')", '1 of 18 rows of its table item have been changed'],
    ['UPDATE item SET checksum = NULL WHERE id = 7', '1 of 17 rows'],
    ["UPDATE stored_number SET value = 16 WHERE name = 'item'", 'rows of its table stored_number'],
  ])('notice what another program does: %s', (sql, said) => {
    const opened = open();
    fill(opened);
    opened.close();
    const other = new DatabaseSync(file);
    other.exec(sql);
    other.close();
    const again = open();
    expect(() => again.tables.verify()).toThrow(said);
    again.close();
  });

  it('take rows of other programs where they may add some', () => {
    const opened = open();
    fill(opened);
    const other = new DatabaseSync(file);
    other.exec("INSERT INTO item (name) VALUES ('x')");
    other.close();
    opened.tables.verify(['item']);
    expect(opened.tables.transaction(() => opened.tables.adopt('item'))).toBe(1);
    opened.tables.verify();
    opened.close();
  });

  it('of a database of an earlier version get checksums, and changes nothing', () => {
    const earlier = new DatabaseSync(file);
    earlier.exec(`${schema} INSERT INTO item (name, value) VALUES ('a', 1), ('b', NULL)`);
    earlier.close();
    const opened = open();
    opened.tables.verify();
    opened.close();
    const again = open();
    again.tables.verify();
    expect(again.database.prepare('SELECT name, value FROM item').all()).toEqual([
      { name: 'a', value: 1 },
      { name: 'b', value: null },
    ]);
    again.close();
  });

  it('undo what throws, and do not count what changes nothing', () => {
    const opened = open();
    const commits = (): unknown =>
      opened.database.prepare("SELECT value FROM stored_number WHERE name = 'commits'").get()?.[
        'value'
      ];
    opened.tables.transaction(() => opened.database.exec("INSERT INTO item (name) VALUES ('a')"));
    opened.tables.transaction(() => opened.database.prepare('SELECT * FROM item').all());
    expect(() =>
      opened.tables.transaction(() => {
        opened.database.exec("INSERT INTO item (name) VALUES ('b')");
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(commits()).toBe(1);
    opened.tables.verify();
    opened.close();
  });
});
