import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fillFolder } from './fill-folder.js';

const root = await mkdtemp(path.join(tmpdir(), 'fill-folder-'));
afterAll(() => rm(root, { recursive: true }));

describe('fillFolder', () => {
  it('leaves out the files of a draft that a killed process with the same id left', async () => {
    const [folder, draft] = ['out', `out.partial-${process.pid}`].map((name) =>
      path.join(root, name),
    ) as [string, string];
    await mkdir(draft);
    await writeFile(path.join(draft, 'old'), '');
    await fillFolder(folder, (place) => writeFile(path.join(place, 'new'), ''));
    expect(await readdir(folder)).toEqual(['new']);
    expect(await readdir(root)).toEqual(['out']);
  });
});
