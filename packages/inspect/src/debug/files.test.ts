import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareFolder } from './files.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-debug-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('names an output directory that cannot be written', async () => {
  const file = path.join(folder, 'file');
  await writeFile(file, '');
  await expect(prepareFolder(path.join(file, 'out'))).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringMatching(/file.out cannot be written: ENOTDIR.* Name a folder/),
  });
});
