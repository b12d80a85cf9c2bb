import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkpointSteps,
  digestFolder,
  readManifest,
  readStored,
  verifyFolder,
  verifyStored,
  writeManifest,
} from './manifest.js';

let root: string;
let folder: string;
const inFolder = (...names: readonly string[]): string => path.join(folder, ...names);
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'manifest-'));
  folder = path.join(root, 'global_step_4');
  await mkdir(inFolder('critic/optimizer'), { recursive: true });
  await writeFile(inFolder('config.json'), '{"layers": 2}');
  await writeFile(inFolder('critic/optimizer/moments'), 'moments');
  await writeManifest(folder, { step: 4, final: true });
});
afterEach(() => rm(root, { recursive: true }));

const names = ['config.json', 'critic/optimizer/moments'];

it('lists the steps of the checkpoints in a folder, in ascending order', async () => {
  for (const name of ['global_step_10', 'global_step_9', 'global_step_9.tmp', 'monitor'])
    await mkdir(path.join(root, name));
  expect(await checkpointSteps(root)).toEqual([4, 9, 10]);
  expect(await checkpointSteps(path.join(root, 'missing'))).toEqual([]);
});

it('is verified, and a folder digested, until the signal aborts', async () => {
  const reason = new Error('stopped');
  await writeFile(inFolder('model.safetensors'), new Uint8Array(3 << 20));
  await writeManifest(folder, { step: 4, final: true });
  const manifest = (await readManifest(folder))!;
  for (const work of [
    (signal: AbortSignal) => verifyFolder(folder, manifest, signal),
    (signal: AbortSignal) => digestFolder(folder, signal),
  ]) {
    const { signal } = new AbortController();
    // Each of the small files takes two checks, so that the last one is within the large file.
    let checks = 6;
    signal.throwIfAborted = () => {
      if (--checks === 0) throw reason;
    };
    await expect(work(signal)).rejects.toBe(reason);
  }
});

describe.each([
  ['a checkpoint', 'global_step_4'],
  ['its copy under another name', 'mine'],
])('a file of %s', (_what, name) => {
  beforeEach(async () => {
    await rename(folder, path.join(root, name));
    folder = path.join(root, name);
  });

  it.each(names)('is read as it was written, or refused: %s', async (file) => {
    const bytes = await readFile(inFolder(file));
    expect(await readStored(inFolder(file))).toEqual(bytes);
    await verifyStored(inFolder(file));
    for (const bit of bytes.keys()) {
      const flipped = Buffer.from(bytes);
      flipped[bit]! ^= 1 << (bit % 8);
      await writeFile(inFolder(file), flipped);
      const said = `${file} differs from its digest in the manifest`;
      await expect(readStored(inFolder(file))).rejects.toThrow(said);
      await expect(verifyStored(inFolder(file))).rejects.toThrow(said);
    }
    await rm(inFolder(file));
    await expect(readStored(inFolder(file))).rejects.toThrow(`${file} is missing`);
    await expect(verifyStored(inFolder(file))).rejects.toThrow('delete its manifest.json');
    await rm(inFolder('manifest.json'));
    expect(await readStored(inFolder(file))).toBeUndefined();
  });

  it('may be added, and is then not verified', async () => {
    await writeFile(inFolder('chat_template.jinja'), 'new');
    expect(String(await readStored(inFolder('chat_template.jinja')))).toBe('new');
  });

  it('is refused with a manifest of which a digest was changed', async () => {
    const text = await readFile(inFolder('manifest.json'), 'utf8');
    await writeFile(inFolder('manifest.json'), text.replace(/"sha256": "./, '"sha256": "x'));
    await expect(readStored(inFolder('config.json'))).rejects.toThrow('has been changed');
  });
});

it.each(['{"name": "App", "icons": []}', 'no JSON'])(
  'the manifest of another program is ignored: %s',
  async (text) => {
    await rename(folder, path.join(root, 'model'));
    await writeFile(path.join(root, 'model/manifest.json'), text);
    expect(await readManifest(path.join(root, 'model'))).toBeUndefined();
    expect(await readStored(path.join(root, 'model/config.json'))).toBeDefined();
  },
);
