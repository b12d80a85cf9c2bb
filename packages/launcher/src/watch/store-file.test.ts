import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readStorePlace, writeStorePlace } from './store-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-store-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('keeps the address of a server, without its password', () => {
  writeStorePlace(folder, { url: 'postgres://me:secret@host:5432/db', run: 'project/run' });
  expect(readStorePlace(folder)).toEqual({
    url: 'postgres://me@host:5432/db',
    run: 'project/run',
  });
});

it('keeps nothing of a store that is in the folder', () => {
  const own = { url: path.join(folder, 'run.db'), run: 'project/run' };
  writeStorePlace(folder, { ...own, url: 'postgres://host/db' });
  writeStorePlace(folder, own);
  expect(existsSync(path.join(folder, 'store.json'))).toBe(false);
  expect(readStorePlace(folder)).toEqual({ url: own.url });
});
