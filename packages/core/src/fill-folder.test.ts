import { spawnSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { draftsOf, fillFolder, makeFolder } from './fill-folder.js';

const root = await mkdtemp(path.join(tmpdir(), 'fill-folder-'));
const at = (...names: string[]): string => path.join(root, ...names);
beforeEach(async () => {
  await rm(root, { recursive: true });
  await mkdir(root);
});
afterAll(() => rm(root, { recursive: true }));

const fill = (name: string) => (draft: string) => writeFile(path.join(draft, name), '');
const fail = (): Promise<void> => Promise.reject(new Error('broken'));

describe('fillFolder', () => {
  it('fills a linked folder', async () => {
    await mkdir(at('disk'));
    await symlink(at('disk'), at('out'));
    await expect(fillFolder(at('out'), fail)).rejects.toThrow('broken');
    expect(await readdir(at('disk'))).toEqual([]);
    await fillFolder(at('out'), fill('new'));
    expect(await readdir(at('disk'))).toEqual(['new']);
    expect(await readdir(root)).toEqual(['disk', 'out']);
  });

  it('fills folders beside the drafts of killed processes, which it keeps', async () => {
    const drafts = ['out.partial-2024-results', path.join('there', '.partial-7-x')];
    for (const draft of drafts) {
      await mkdir(at(draft), { recursive: true });
      await fill('old')(at(draft));
      await utimes(at(draft, 'old'), 0, 0);
      await utimes(at(draft), 0, 0);
    }
    for (const name of ['out', 'there']) await fillFolder(at(name), fill('new'));
    for (const draft of drafts) expect(await readdir(at(draft))).toEqual(['old']);
    expect(await readdir(at('out'))).toEqual(['new']);
    expect(await readdir(at('there'))).toEqual(['.partial-7-x', 'new']);
  });

  it('finds the drafts of a folder, and no other names', async () => {
    const id = '7-3f2504e0-4f89-11d3-9a0c-0305e82c3301';
    for (const name of [`out.partial-${id}`, 'out.partial-2024-results', `in/.partial-${id}`])
      await mkdir(at(name), { recursive: true });
    expect(await draftsOf(at('out'))).toEqual([at(`out.partial-${id}`)]);
    expect(await draftsOf(at('in'))).toEqual([at('in', `.partial-${id}`)]);
    expect(await draftsOf(at('missing', 'out'))).toEqual([]);
  });

  it('keeps a file that another program writes into the folder', async () => {
    await mkdir(at('there'));
    const both = async (draft: string): Promise<void> => {
      await fill('config.json')(draft);
      await writeFile(at('there', 'config.json'), 'other');
    };
    await expect(fillFolder(at('there'), both)).rejects.toThrow(
      'there is not empty: it holds config.json. Name a folder',
    );
    expect(await readdir(at('there'))).toEqual(['config.json']);
    expect(await readFile(at('there', 'config.json'), 'utf8')).toBe('other');
  });

  it('fills two drafts of one folder at once, and keeps the first', async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const begun = Promise.withResolvers<void>();
    const one = fillFolder(at('out'), async (draft) => {
      await fill('one')(draft);
      begun.resolve();
      await first.promise;
    });
    await begun.promise;
    const two = fillFolder(at('out'), async (draft) => {
      await fill('two')(draft);
      first.resolve();
      await second.promise;
    });
    await one;
    second.resolve();
    await expect(two).rejects.toThrow('out is not empty: it holds one. Name a folder');
    expect(await readdir(at('out'))).toEqual(['one']);
    expect(await readdir(root)).toEqual(['out']);
  });

  it('says that a folder cannot be written', async () => {
    await writeFile(at('file'), '');
    for (const make of [(folder: string) => fillFolder(folder, fill('new')), makeFolder])
      await expect(make(at('file', 'out'))).rejects.toMatchObject({
        name: 'ConfigError',
        message: `${at('file', 'out')} cannot be written: ENOTDIR: not a directory. Name a folder that this process may write.`,
      });
  });

  it('removes the parent folders that it created if it fails, and keeps the others', async () => {
    await mkdir(at('a'));
    await expect(fillFolder(at('a', 'b', 'c'), fail)).rejects.toThrow('broken');
    expect(await readdir(root, { recursive: true })).toEqual(['a']);
  });

  it('removes its draft when the process exits', async () => {
    const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;
    const code = `import { fillFolder } from '@trinity-rft/core/support';
      await fillFolder(${JSON.stringify(at('out'))}, () => process.exit(7));`;
    const flags = ['--conditions=@trinity-rft/source', '--import', register];
    const { status } = spawnSync(
      process.execPath,
      [...flags, '--input-type=module', '--eval', code],
      { cwd: import.meta.dirname, timeout: 120_000, killSignal: 'SIGKILL' },
    );
    expect(status).toBe(7);
    expect(await readdir(root)).toEqual([]);
  });
});
