import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openSqlite } from '@trinity-rft/core/store';
import { afterAll, expect, it } from 'vitest';
import { ownDatabase } from './stored-experiences.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-own-database-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('copies the database of another run while that run writes it', async () => {
  const database = path.join(root, 'other.db');
  const other = openSqlite(database);
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7)');
  other.exec('BEGIN IMMEDIATE');
  const copy = openSqlite(await ownDatabase(database, path.join(root, 'job')), { readOnly: true });
  other.close();
  expect(copy.prepare('SELECT x FROM t').get()).toEqual({ x: 7 });
  copy.close();
});

it('does not create a database that is missing', async () => {
  const database = path.join(root, 'missing.db');
  await expect(ownDatabase(database, path.join(root, 'job'))).rejects.toMatchObject({
    code: 'BUFFER_COPY',
  });
  expect(existsSync(database)).toBe(false);
});
