import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkpointsIn, type Checkpoint } from './checkpoints.js';

const info = {
  runId: 'run',
  kind: 'weights',
  name: 'a',
  baseModel: 'b',
  rank: 0,
  alpha: 1,
  targetModules: 'all-linear',
  savedAt: '2026-01-01T00:00:00Z',
} as const;
const uri = 'tinker://run/weights/a';

function openStore(now: () => number = () => 0) {
  const warnings: string[] = [];
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-checkpoints-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = path.join(root, 'run', 'weights');
  const checkpoints = checkpointsIn(root, now, { warn: (line) => warnings.push(line) });
  const save = (text: string, options: { ttlSeconds?: number } = {}): Promise<Checkpoint> =>
    checkpoints.save(info, (directory) => writeFile(path.join(directory, 'text'), text), {
      overwrite: true,
      ...options,
    });
  const read = async (): Promise<string> =>
    readFileSync(path.join((await checkpoints.find(uri)).directory, 'text'), 'utf8');
  return { checkpoints, save, read, folder, root, warnings };
}

it('weights can be found at any time while they are replaced', async () => {
  const { save, read, folder } = openStore();
  await save('first');
  let isSaved = false;
  const saved = save('second').then(() => (isSaved = true));
  while (!isSaved) {
    expect(existsSync(path.join(folder, 'a', 'text'))).toBe(true);
    await new Promise(setImmediate);
  }
  await saved;
  expect(await read()).toBe('second');
  expect(readdirSync(folder)).toEqual(['a']);
});

it('weights are there after a kill between the renames of their replacement', async () => {
  const { checkpoints, save, read, folder } = openStore();
  await save('first', { ttlSeconds: 1 });
  // The state after the first rename: the earlier weights are aside, and the draft is complete.
  renameSync(path.join(folder, 'a'), path.join(folder, '.a~'));
  await mkdir(path.join(folder, '.a'));
  expect((await checkpoints.list()).map((one) => one.uri)).toEqual([uri]);
  expect(await read()).toBe('first');
  await save('second');
  expect((await checkpoints.find(uri)).expiresAt).toBeUndefined();
  expect(readdirSync(folder)).toEqual(['a']);
});

it('deleted weights do not come back, also not in part', async () => {
  const { checkpoints, save, folder } = openStore();
  await save('first');
  await mkdir(path.join(folder, '.a~'));
  await checkpoints.delete(uri);
  expect(await checkpoints.list()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  await save('second');
  // The state after a kill during a deletion.
  await rename(path.join(folder, 'a'), path.join(folder, '.a~gone'));
  expect(await checkpoints.list()).toEqual([]);
});

it('what a kill during a deletion left is deleted by the next list, and by the next save', async () => {
  const { checkpoints, save, folder } = openStore();
  await save('first');
  await rename(path.join(folder, 'a'), path.join(folder, '.a~gone'));
  expect(await checkpoints.list()).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  await mkdir(path.join(folder, '.a~gone'));
  await save('second');
  expect(readdirSync(folder)).toEqual(['a']);
});

it('expired weights can be asked for several times at once', async () => {
  let now = 0;
  const { checkpoints, save, folder } = openStore(() => now);
  await save('first', { ttlSeconds: 1 });
  now = 1000;
  const lists = await Promise.all([1, 2, 3].map(() => checkpoints.list()));
  expect(lists).toEqual([[], [], []]);
  expect(readdirSync(folder)).toEqual([]);
});

it('a draft that fails is deleted, and a server that is opened meanwhile leaves the others', async () => {
  const { checkpoints, folder, root } = openStore();
  const failed = checkpoints.save(
    info,
    async (directory) => {
      writeFileSync(path.join(directory, 'text'), 'part');
      throw new Error('No space left on device');
    },
    { overwrite: false },
  );
  await expect(failed).rejects.toThrow('No space left on device');
  expect(readdirSync(folder)).toEqual([]);
  const open = (): unknown => checkpointsIn(root, () => 0, { warn: () => undefined });
  await checkpoints.save(info, async () => void open(), { overwrite: false });
  expect(readdirSync(path.join(folder, 'a'))).toContain('tinker.json');
});

it('weights that replace expired ones are not deleted in their place', async () => {
  let onNow = (): number => 0;
  const { checkpoints, save, read, folder } = openStore(() => onNow());
  await save('first', { ttlSeconds: 1 });
  // The replacement ends when the list has found that the weights expired.
  onNow = () => {
    writeFileSync(path.join(folder, 'a', 'text'), 'second');
    rmSync(path.join(folder, 'a.standing.json'), { force: true });
    return 1000;
  };
  expect(await checkpoints.list()).toHaveLength(1);
  expect(await read()).toBe('second');
});

it('weights keep their expiry and their flag until others are in their place', async () => {
  const { checkpoints, save, folder } = openStore();
  await save('first', { ttlSeconds: 1 });
  await checkpoints.change(uri, { isPublic: true });
  const before = await checkpoints.find(uri);
  let isSaved = false;
  const saved = save('second').then(() => (isSaved = true));
  while (!isSaved) {
    const text = readFileSync(path.join(folder, 'a', 'text'), 'utf8');
    expect(existsSync(path.join(folder, 'a.standing.json'))).toBe(text === 'first');
    await new Promise(setImmediate);
  }
  await saved;
  expect(before).toMatchObject({ isPublic: true, expiresAt: '1970-01-01T00:00:01.000Z' });
  expect(await checkpoints.find(uri)).toMatchObject({ isPublic: false, expiresAt: undefined });
});

it.each(['tinker.json', '../a.standing.json'])(
  'weights with a damaged %s are left out of lists, and can be deleted and overwritten',
  async (name) => {
    const { checkpoints, save, read, folder, warnings } = openStore();
    await save('first');
    await checkpoints.save({ ...info, name: 'b' }, async () => undefined, { overwrite: false });
    const file = path.join(folder, 'a', name);
    const damage = (): void => {
      rmSync(path.join(folder, 'a', 'manifest.json'));
      writeFileSync(file, '{"runId":');
    };
    damage();
    expect((await checkpoints.list()).map((one) => one.name)).toEqual(['b']);
    expect(warnings[0]).toContain(`${file} `);
    await expect(checkpoints.find(uri)).rejects.toThrow(`${file} `);
    await save('second');
    expect(await read()).toBe('second');
    damage();
    await checkpoints.delete(uri);
    await expect(checkpoints.find(uri)).rejects.toMatchObject({ status: 404 });
    await expect(checkpoints.delete(uri)).rejects.toMatchObject({ status: 404 });
  },
);

it('the checkpoints of a training run lie in its folder only', async () => {
  const { checkpoints, save, folder } = openStore();
  await save('first');
  await mkdir(path.join(folder, '.b~gone'));
  for (const run of ['../run', 'x/../run', '..', ''])
    await expect(checkpoints.list(run)).rejects.toMatchObject({ status: 422 });
  expect(existsSync(path.join(folder, '.b~gone'))).toBe(true);
});
