// Tests experiences that are trained on more than once: by priority, and in passes over a stored
// run.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { checkpointSteps, metricLines, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs, type KillPoint } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

async function runIt(name: string, ...over: readonly Tree[]) {
  const config = workspace.config(`${name}.yaml`, { name }, ...over);
  const { error, output } = await runHere(workspace, config);
  const trainer = metricLines(job(name)).filter(({ role }) => role === 'trainer');
  return { error, output, trainer: trainer.map(({ metrics }) => metrics) };
}

const recordOf = (name: string) => ({
  digest: weightsDigest(job(name)),
  checkpoints: checkpointSteps(job(name)),
  lines: metricLines(job(name)).toSorted((a, b) => a.role.localeCompare(b.role) || a.step - b.step),
  uses: usesOf(name),
});

/** Experiences that each train step used, in order. */
function usesOf(name: string): readonly string[] {
  const database = new DatabaseSync(path.join(job(name), 'buffer/experience_buffer.db'), {
    readOnly: true,
  });
  const rows = database
    .prepare(
      "SELECT train_step || ' ' || uid || ' ' || dropped AS use FROM used JOIN experience USING (id) ORDER BY used.rowid",
    )
    .all();
  database.close();
  return rows.map((row) => String(row['use']));
}

async function killed(name: string, point: KillPoint, ...over: readonly Tree[]): Promise<string> {
  const config = workspace.config(`${name}.yaml`, { name }, ...over);
  const { signal, stderr } = await killedTrinity(workspace.root, runArgs(config), point);
  expect([signal, stderr]).toEqual(['SIGKILL', '']);
  return config;
}

const replay = (over: Tree, buffer: Tree = {}): Tree => ({
  buffer: {
    ...buffer,
    trainer_input: { experience_buffer: { replay_buffer: { enable: true, ...over } } },
  },
  trainer: { save_interval: 3 },
});

/**
 * Configuration in which each train step, except the first, uses the 16 runs of an explore step and
 * 16 earlier experiences.
 */
const mixed = replay(
  {
    priority_fn: 'decay_limit_randomization',
    priority_fn_args: { use_count_limit: 3, sigma: 2 },
    reuse_cooldown_time: 0,
  },
  { train_batch_size: 32 },
);

it('fills batches with earlier experiences, and repeats that when it is killed', async () => {
  const { error, trainer } = await runIt('mixed', mixed);
  expect(error).toBeUndefined();
  // The first train step uses two explore steps, because no experience can be reused yet.
  expect(trainer.map((metrics) => metrics['sample/replay/share'])).toEqual([0, 0.5, 0.5, 0.5, 0.5]);
  expect(
    Math.max(...trainer.map((metrics) => metrics['sample/replay/use_count/max'] ?? 0)),
  ).toBeGreaterThan(1);
  const moments: readonly KillPoint[] = [
    { call: 'commit', match: '', nth: 8, when: 'after' },
    { call: 'rename', match: 'global_step_3.tmp ', nth: 1, when: 'before' },
    { call: 'commit', match: '', nth: 10, when: 'before' },
  ];
  const expected = recordOf('mixed');
  for (const [i, point] of moments.entries()) {
    const config = await killed(`mixed_${i}`, point, mixed);
    expect((await runHere(workspace, config)).error).toBeUndefined();
    expect({ ...recordOf(`mixed_${i}`), moment: i }).toEqual({ ...expected, moment: i });
  }
}, 180_000);

it('trains on what there is while the explorer explores, as often as the limit says', async () => {
  const { error, trainer } = await runIt(
    'ahead',
    replay({
      priority_fn: 'linear_decay_use_count_control_randomization',
      priority_fn_args: { use_count_limit: 2 },
      reuse_cooldown_time: 0,
    }),
    { synchronizer: { sync_style: 'explorer_driven' } },
  );
  expect(error).toBeUndefined();
  const uses = new Map<string, number>();
  for (const use of usesOf('ahead')) {
    const uid = use.split(' ')[1] ?? '';
    uses.set(uid, (uses.get(uid) ?? 0) + 1);
  }
  // Six explore steps of 16 runs: each is trained on, and none more often than twice.
  expect(uses.size).toBe(96);
  expect(Math.max(...uses.values())).toBeLessThanOrEqual(2);
  expect(trainer.length).toBeGreaterThanOrEqual(6);
});

it('makes several passes over a stored run, and goes on within one', async () => {
  const explored = await runIt('explored', { buffer: { total_steps: 3 } });
  expect(explored.error).toBeUndefined();
  const stored: Tree = {
    mode: 'train',
    buffer: {
      total_steps: undefined,
      total_epochs: 3,
      train_batch_size: 16,
      trainer_input: {
        experience_buffer: {
          storage_type: 'sql',
          path: `sqlite:///${path.join(job('explored'), 'buffer/experience_buffer.db')}`,
        },
      },
    },
    trainer: { save_interval: 4 },
  };
  const { error, output, trainer } = await runIt('passes', stored);
  expect({ error, output }).toMatchObject({ error: undefined });
  expect(trainer.map((metrics) => metrics['sample/replay/use_count/max'])).toEqual([
    1, 1, 1, 2, 2, 2, 3, 3, 3,
  ]);
  const config = await killed(
    'passes_killed',
    { call: 'commit', match: '', nth: 5, when: 'after' },
    stored,
  );
  expect((await runHere(workspace, config)).error).toBeUndefined();
  expect(recordOf('passes_killed')).toEqual(recordOf('passes'));
}, 120_000);

it('trains on all experiences of another run in its own batches, and continues when passes are added', async () => {
  const explored = await runIt('trained', { buffer: { total_steps: 2 } });
  expect(explored.error).toBeUndefined();
  const passes = (count: number): Tree => ({
    mode: 'train',
    buffer: {
      total_steps: undefined,
      total_epochs: count,
      train_batch_size: 8,
      trainer_input: {
        experience_buffer: {
          storage_type: 'sql',
          path: `sqlite:///${path.join(job('trained'), 'buffer/experience_buffer.db')}`,
        },
      },
    },
  });
  const usesPerStep = (): readonly number[] => {
    const steps = usesOf('longer').map((use) => Number(use.split(' ')[0]));
    return [...new Set(steps)].map((step) => steps.filter((other) => other === step).length);
  };
  const file = (count: number): string =>
    workspace.config('longer.yaml', { name: 'longer' }, passes(count));
  for (const [count, doneBefore] of [
    [2, false],
    [3, false],
    [3, true],
  ] as const) {
    const { summary } = await runHere(workspace, file(count));
    expect(summary).toMatchObject({ trainStep: 4 * count, doneBefore });
    expect(usesPerStep()).toEqual(Array.from({ length: 4 * count }, () => 8));
  }
}, 120_000);
