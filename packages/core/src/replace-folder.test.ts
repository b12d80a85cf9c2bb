import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeFolder, replaceFolder } from './replace-folder.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'replace-folder-'));
});
afterEach(() => rm(root, { recursive: true }));

async function write(name: string): Promise<string> {
  const folder = path.join(root, name);
  await mkdir(folder);
  await writeFile(path.join(folder, 'file'), name);
  return folder;
}

it('a folder is replaced and removed, also where none has the name', async () => {
  const folder = path.join(root, 'folder');
  for (const draft of ['first', 'second']) {
    await replaceFolder(await write(draft), folder);
    expect(await readdir(root)).toEqual(['folder']);
    expect(await readFile(path.join(folder, 'file'), 'utf8')).toBe(draft);
  }
  await removeFolder(folder);
  await removeFolder(folder);
  expect(await readdir(root)).toEqual([]);
});
