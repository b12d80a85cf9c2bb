/** Tests a store that outlives the folder of its run: a process finds the run it means, or reports an error. */
import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere, type RunHere } from './support/run-here.js';
import { metricLines } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

const stored = (file: string, over: Tree = {}): Tree => ({
  buffer: {
    total_steps: 2,
    trainer_input: { experience_buffer: { path: `sqlite:///${file}`, ...over } },
  },
});

/** Runs trainer and explorer from separate files, as in the asynchronous example of Trinity-RFT. */
function apart(file: string, over: readonly Tree[], newRun = false): Promise<readonly RunHere[]> {
  const trainer = workspace.config('trainer.yaml', stored(file), ...over, { mode: 'train' });
  const explorer = workspace.config('explorer.yaml', stored(file), ...over, {
    mode: 'explore',
    explorer: { name: 'one', max_retry_times: 0, eval_interval: 0 },
  });
  return Promise.all([
    runHere(workspace, trainer, { newRun }),
    runHere(workspace, explorer, { newRun }),
  ]);
}

const alone = (file: string, mode: string, ...over: readonly Tree[]): Promise<RunHere> =>
  runHere(workspace, workspace.config(`${mode}.yaml`, stored(file), ...over, { mode }));

const job = (root: string, name: string): string => path.join(workspace.root, root, 'tests', name);
const errorsOf = (sides: readonly RunHere[]) => sides.flatMap(({ error }) => error ?? []);

describe('a store that processes share', () => {
  const anew: readonly Tree[] = [
    { checkpoint_root_dir: 'anew', seed: 8, algorithm: { optimizer: { lr: 1e-3 } } },
  ];

  it('is not that of a new run in another folder', { timeout: 120_000 }, async () => {
    expect(errorsOf(await apart('shared.db', [{ name: 'shared' }]))).toEqual([]);
    for (const mode of ['train', 'explore']) {
      const { error } = await alone('shared.db', mode, { name: 'shared' }, ...anew);
      expect(error).toMatchObject({ name: 'ConfigError', code: 'RUN_DIFFERS' });
      expect(error?.message).toContain(`a trainer in ${job('runs', 'shared')} on `);
      expect(error?.message).toContain(`is ${job('anew', 'shared')}`);
      expect(error?.message).toContain('seed is 8 here and 7 there');
    }
    const fresh = await apart('shared.db', [{ name: 'shared' }, ...anew], true);
    expect(errorsOf(fresh)).toEqual([]);
    expect(
      metricLines(job('anew', 'shared')).filter(({ role }) => role === 'trainer'),
    ).toHaveLength(2);
    expect(errorsOf(await apart('shared.db', [{ name: 'of its own' }, ...anew]))).toEqual([]);
  });

  it(
    'goes with a folder that is moved, and with one of two copies',
    { timeout: 120_000 },
    async () => {
      expect(errorsOf(await apart('moving.db', [{ name: 'moving' }]))).toEqual([]);
      const longer: Tree = { name: 'moving', buffer: { total_steps: 3 } };
      cpSync(job('runs', 'moving'), job('copied', 'moving'), { recursive: true });
      const copy = await alone('moving.db', 'train', longer, { checkpoint_root_dir: 'copied' });
      expect(copy.error?.message).toContain(`${job('copied', 'moving')} is a copy of that folder`);
      rmSync(job('copied', 'moving'), { recursive: true });
      cpSync(path.join(workspace.root, 'runs'), path.join(workspace.root, 'moved'), {
        recursive: true,
      });
      rmSync(path.join(workspace.root, 'runs/tests/moving'), { recursive: true });
      expect(
        errorsOf(await apart('moving.db', [longer, { checkpoint_root_dir: 'moved' }])),
      ).toEqual([]);
      // Moves the folder away, and with it the weights that were trained on the store's
      // experiences.
      renameSync(job('moved', 'moving'), path.join(workspace.root, 'away'));
      const gone = await alone('moving.db', 'train', longer, { checkpoint_root_dir: 'moved' });
      expect(gone.error?.message).toContain('has been deleted or emptied since');
    },
  );
});

it('does not begin in the middle of the experiences of another run', async () => {
  const over = stored('experiences.db', { storage_type: 'sql' });
  const both = (root: string): Promise<RunHere> =>
    alone('experiences.db', 'both', over, { name: 'both', checkpoint_root_dir: root });
  expect((await both('runs')).error).toBeUndefined();
  const { error } = await both('fresh');
  expect(error).toMatchObject({ name: 'ConfigError', code: 'STORE_OF_OTHER_RUN' });
  expect(error?.message).toContain(job('runs', 'both'));
  expect(error?.message).toContain(job('fresh', 'both'));
  expect((await both('runs')).summary).toMatchObject({ doneBefore: true });
  expect(readFileSync(path.join(job('runs', 'both'), 'run.id'), 'utf8')).toMatch(
    /^[\da-f-]{36}\n$/,
  );
});
