import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { prepareSchema } from './schema.js';

it('accepts tables that another process creates while it waits for the lock', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-schema-'));
  const file = path.join(folder, 'store.db');
  const [late, early] = [new DatabaseSync(file), new DatabaseSync(file)];
  const exec = late.exec.bind(late);
  late.exec = (sql) => {
    if (sql.startsWith('BEGIN')) prepareSchema(early, file);
    exec(sql);
  };
  prepareSchema(late, file);
  expect(late.prepare('PRAGMA user_version').get()).toEqual(
    early.prepare('PRAGMA user_version').get(),
  );
  late.close();
  early.close();
  rmSync(folder, { recursive: true });
});
