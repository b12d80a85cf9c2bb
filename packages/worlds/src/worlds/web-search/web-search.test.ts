import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@trinity-rft/core';
import { expect, it, onTestFinished } from 'vitest';
import { webSearch } from './definition.js';
import { readFolder } from './read-folder.js';

const { signal } = new AbortController();
const context = { logger: silentLogger, signal };

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'web-search-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

it('searches the texts of a folder', async () => {
  const folder = folderWith({
    'otters.md': 'Sea otters hold hands while they sleep.',
    'badgers.txt': 'Badgers live in setts.',
    'notes.json': '{}',
  });
  const environment = await webSearch.open({ folder }, context);
  const row = { question: 'What do otters hold?', answer: 'hands' };
  const episode = await environment.reset({ row, seed: 0 }, signal);
  const call = (name: string, given: Readonly<Record<string, unknown>>) =>
    episode.step({ type: 'tool', name, arguments: given }, signal);
  expect((await call('search', { query: 'otter sleeping' })).observation).toContain('"otters.md"');
  expect((await call('open', { id: 'otters.md' })).observation).toContain('hold hands');
  expect((await call('open', { id: 'x' })).observation).toBe('There is no page x.');
  expect(await call('answer', { answer: 'Hands.' })).toMatchObject({ reward: 1, done: true });
  await environment.close();
});

it('searches for the first hundred different words of a long query', async () => {
  const folder = folderWith({ 'otters.md': 'Sea otters hold hands while they sleep.' });
  const environment = await webSearch.open({ folder }, context);
  onTestFinished(() => environment.close());
  const row = { question: 'What do otters hold?', answer: 'hands' };
  const episode = await environment.reset({ row, seed: 0 }, signal);
  const search = async (query: string): Promise<string> =>
    (await episode.step({ type: 'tool', name: 'search', arguments: { query } }, signal))
      .observation;
  expect(await search(`${'Badger badger '.repeat(50_000)} otter`)).toContain('"otters.md"');
  const many = Array.from({ length: 100 }, (_, i) => `badger${i} `).join('');
  expect(await search(`otter ${many}`)).toContain('"otters.md"');
  expect(await search(`${many} otter`)).not.toContain('"otters.md"');
});

it('reads files only, and names one that cannot be read', async () => {
  const folder = folderWith({ 'b.txt': 'text' });
  mkdirSync(path.join(folder, 'a.md'));
  writeFileSync(path.join(folder, 'a.md', 'c.md'), 'more');
  expect((await readFolder(folder)).map(({ id }) => id)).toEqual([
    path.join('a.md', 'c.md'),
    'b.txt',
  ]);
  symlinkSync(path.join(folder, 'missing'), path.join(folder, 'd.txt'));
  await expect(readFolder(folder)).rejects.toThrow('has the file d.txt, which cannot be read');
});

it('reads more files than a process may open at once', () => {
  const texts = Array.from({ length: 300 }, (_, i) => [`${i}.txt`, 'text'] as const);
  const folder = folderWith(Object.fromEntries(texts));
  const register = new URL('../../../../../tools/register-source.mjs', import.meta.url).href;
  const code = `import { readFolder } from ${JSON.stringify(new URL('read-folder.ts', import.meta.url).href)};
    console.log((await readFolder(${JSON.stringify(folder)})).length);`;
  const flags = ['--conditions=@trinity-rft/source', '--import', register];
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      'ulimit -n 200 && exec "$0" "$@"',
      process.execPath,
      ...flags,
      '--input-type=module',
      '--eval',
      code,
    ],
    { cwd: import.meta.dirname, encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' },
  );
  expect(stderr).toBe('');
  expect(stdout).toBe('300\n');
});

it('says what is wrong with a folder, and that tasks of it come from a file', async () => {
  await expect(webSearch.open({ folder: folderWith({}) }, context)).rejects.toThrow(
    /environment_args\.folder: .* has no files named \*\.txt or \*\.md/,
  );
  expect(() => webSearch.tasks?.({ split: 'train', count: 1, seed: 0 }, { folder: 'x' })).toThrow(
    /rows with question and answer/,
  );
});
