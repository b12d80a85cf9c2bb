import files, { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkpointsToResume,
  dropCheckpointsAfter,
  listCheckpoints,
  pruneCheckpoints,
  verifyCheckpoint,
  writeCheckpoint,
  type Checkpoint,
} from './checkpoint.js';

/** Calls `look` before every deletion, at which this process may be killed, while `act` runs. */
async function beforeDeletions(
  look: (target: string) => Promise<void>,
  act: () => Promise<void>,
): Promise<void> {
  const { rm: real } = files;
  const spied: typeof real = async (target, options) => {
    await look(path.basename(String(target)));
    await real(target, options);
  };
  const install = (own: typeof real): void => {
    Object.assign(files, { rm: own });
    syncBuiltinESMExports();
  };
  install(spied);
  await act().finally(() => install(real));
}

let root: string;
/** Names of the folders that were discarded while they were there. */
let discarded: string[];
const engine = {
  discard: async (directory: string): Promise<void> => {
    await readFile(path.join(directory, 'manifest.json'));
    discarded.push(path.basename(directory));
  },
};
beforeEach(async () => {
  discarded = [];
  root = await mkdtemp(path.join(tmpdir(), 'checkpoint-'));
});
afterEach(() => rm(root, { recursive: true }));

const fill = async (directory: string): Promise<void> => {
  await mkdir(path.join(directory, 'optimizer'));
  await writeFile(path.join(directory, 'model.safetensors'), 'weights');
  await writeFile(path.join(directory, 'optimizer', 'state'), 'moments');
};
const write = (step: number, final = false) => writeCheckpoint(root, { step, final, fill });

describe('checkpoints', () => {
  it('are listed by step with the digest of every file', async () => {
    await write(10);
    await write(2, true);
    const found = await listCheckpoints(root);
    expect(found.map(({ manifest }) => [manifest.step, manifest.final])).toEqual([
      [2, true],
      [10, false],
    ]);
    expect(found[0]!.manifest.files.map((file) => file.path)).toEqual([
      'model.safetensors',
      'optimizer/state',
    ]);
    expect(await readFile(path.join(root, 'latest_checkpointed_iteration.txt'), 'utf8')).toBe('2');
    await verifyCheckpoint(found[0]!);
  });

  it('do not exist until they are complete', async () => {
    const failing = writeCheckpoint(root, {
      step: 3,
      final: false,
      fill: async (directory) => {
        await fill(directory);
        throw new Error('disk full');
      },
    });
    await expect(failing).rejects.toThrow('disk full');
    // Nor does the draft stay, which would keep the disk full.
    expect(await readdir(root)).toEqual([]);
    await mkdir(path.join(root, 'global_step_4'));
    expect(await listCheckpoints(root)).toEqual([]);
  });

  it('name the file that was changed', async () => {
    const checkpoint = await write(1);
    await writeFile(path.join(checkpoint.directory, 'model.safetensors'), 'other');
    await expect(verifyCheckpoint(checkpoint)).rejects.toThrow(
      'model.safetensors differs from its digest',
    );
    await rm(path.join(checkpoint.directory, 'model.safetensors'));
    await expect(verifyCheckpoint(checkpoint)).rejects.toThrow('model.safetensors is missing');
  });

  it.each<readonly [string, (manifest: Record<string, unknown>) => void, RegExp]>([
    [
      'another step',
      (manifest) => (manifest['step'] = 1),
      /is that of step 1, but its folder is global_step_2\./,
    ],
    ['no files', (manifest) => (manifest['files'] = []), /names no files\. Delete the folder/],
    [
      'fewer files',
      (manifest) => (manifest['files'] as unknown[]).pop(),
      /differs from its digest/,
    ],
    [
      'another end',
      (manifest) => (manifest['final'] = true),
      /has been changed since it was written/,
    ],
  ])('are refused when their manifest says %s', async (_what, change, said) => {
    const { directory } = await write(2);
    const file = path.join(directory, 'manifest.json');
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    change(manifest);
    await writeFile(file, JSON.stringify(manifest));
    await expect(listCheckpoints(root)).rejects.toThrow(said);
  });

  it('of versions without a digest of the manifest are read', async () => {
    const { directory } = await write(2);
    const file = path.join(directory, 'manifest.json');
    const { sha256: _, ...earlier } = JSON.parse(
      await readFile(file, 'utf8'),
    ) as Checkpoint['manifest'];
    await writeFile(file, JSON.stringify(earlier));
    const [found] = await listCheckpoints(root);
    expect(found?.manifest).toEqual(earlier);
    await verifyCheckpoint(found!);
  });

  it('do not bring back a run folder that is gone', async () => {
    const gone = path.join(root, 'gone');
    await expect(writeCheckpoint(gone, { step: 1, final: true, fill })).rejects.toThrow('ENOENT');
    expect(await listCheckpoints(gone)).toEqual([]);
  });

  const stepsOf = (found: readonly Checkpoint[]) => found.map(({ manifest }) => manifest.step);

  it('are replaced and deleted whole', async () => {
    for (const step of [1, 2, 3]) await write(step);
    const deleted = new Set<string>();
    await beforeDeletions(
      async (name) => {
        deleted.add(name);
        expect(stepsOf(await listCheckpoints(root))).toContain(3);
      },
      async () => {
        await write(3, true);
        await pruneCheckpoints(root, 1, {});
      },
    );
    expect([...deleted].filter((name) => !name.endsWith('.tmp'))).toEqual([]);
    expect(deleted.size).toBeGreaterThan(3);
    expect(await readdir(root)).toEqual(['global_step_3', 'latest_checkpointed_iteration.txt']);
  });

  it('are there again if the writer was killed between the last two renames', async () => {
    const { directory } = await write(7, true);
    await rename(directory, `${directory}.tmp`);
    await mkdir(path.join(root, 'global_step_7'));
    await mkdir(path.join(root, 'global_step_8.tmp'));
    await mkdir(path.join(root, 'global_step_6.removed.tmp'));
    expect(await listCheckpoints(root)).toEqual([]);
    const [found, ...others] = await checkpointsToResume(root);
    expect([found?.manifest.final, others]).toEqual([true, []]);
    await verifyCheckpoint(found!);
    expect((await readdir(root)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('go without the temporary files of the user and of other processes', async () => {
    const others = ['latest_checkpointed_iteration.txt.1f.tmp', 'notes.tmp'];
    for (const name of others) await writeFile(path.join(root, name), '');
    for (const clean of [checkpointsToResume, () => pruneCheckpoints(root, undefined, {})]) {
      for (const name of ['global_step_3.tmp', 'global_step_2.removed.tmp'])
        await mkdir(path.join(root, name));
      await clean(root);
      expect(await readdir(root)).toEqual(others);
    }
  });

  it('of later steps go when a run continues from an earlier one', async () => {
    for (const step of [10, 14, 16]) await write(step);
    await dropCheckpointsAfter(root, 12, engine);
    expect(discarded).toEqual(['global_step_14', 'global_step_16']);
    expect(stepsOf(await listCheckpoints(root))).toEqual([10]);
    expect(await readFile(path.join(root, 'latest_checkpointed_iteration.txt'), 'utf8')).toBe('12');
    expect(await readdir(root)).toHaveLength(2);
  });

  it('keep the newest and drop what a crash left', async () => {
    for (const step of [1, 2, 3]) await write(step);
    await mkdir(path.join(root, 'global_step_9.tmp'));
    await pruneCheckpoints(root, 2, engine);
    expect(discarded).toEqual(['global_step_1']);
    expect((await listCheckpoints(root)).map(({ manifest }) => manifest.step)).toEqual([2, 3]);
    await expect(readFile(path.join(root, 'global_step_9.tmp'))).rejects.toThrow('ENOENT');
  });
});
