// Tests the order of tasks: by columns, by results of earlier runs, and from a database.
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { finishHere, runHere } from './support/run-here.js';
import { metricLines, weightsDigest } from './support/run-record.js';
import { killedTrinity, runArgs } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  const rows = Array.from({ length: 40 }, (_, i) => ({
    question: `${i}+1=`,
    answer: String((i + 1) % 10),
    weak: (i % 10) / 20,
    strong: 0.5 + (i % 5) / 10,
  }));
  workspace.write('rated.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const recordOf = (name: string) => ({
  digest: weightsDigest(job(name)),
  lines: metricLines(job(name)).toSorted((a, b) => a.role.localeCompare(b.role) || a.step - b.step),
});

const taskset = (over: Tree): Tree => ({
  buffer: {
    total_steps: 8,
    explorer_input: {
      tasksets: [
        {
          name: 'rated',
          path: 'rated.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
          ...over,
        },
      ],
    },
  },
});

const bots: readonly Tree[] = [
  taskset({
    // The same settings as in Trinity-RFT's example `bots`.
    task_selector: {
      selector_type: 'difficulty_based',
      feature_keys: ['weak', 'strong'],
      kwargs: { m: 4, lamb: 0.1, rho: 0.1, target_reward: 0.3, tau: 0.05, do_sample: true },
    },
  }),
  { data_processor: { experience_pipeline: { operators: [{ name: 'pass_rate_calculator' }] } } },
  { synchronizer: { sync_interval: 2 }, trainer: { save_interval: 2 } },
];

it('selects by difficulty, and a killed run selects the same', async () => {
  await finishHere(workspace, 'bots', ...bots);
  const { lines } = recordOf('bots');
  expect(lines[0]?.metrics).toHaveProperty([
    'experience_pipeline/pass_rate_calculator/selection/valid_ratio',
  ]);
  // The run is killed in the middle of a sync interval, and at its end.
  for (const nth of [5, 8]) {
    const name = `bots_${nth}`;
    const again = workspace.config(`${name}.yaml`, { name }, ...bots);
    const point = { call: 'commit', match: '', nth, when: 'after' } as const;
    const { signal, stderr } = await killedTrinity(workspace.root, runArgs(again), point);
    expect([signal, stderr]).toEqual(['SIGKILL', '']);
    expect((await runHere(workspace, again)).error).toBeUndefined();
    expect(recordOf(name)).toEqual(recordOf('bots'));
  }
  // Without feedback about results, the selector selects other tasks.
  const { output } = await finishHere(workspace, 'blind', ...bots, {
    data_processor: { experience_pipeline: { operators: [] } },
  });
  expect(output).toContain('Add the operator pass_rate_calculator');
  expect(weightsDigest(job('blind'))).not.toEqual(weightsDigest(job('bots')));
}, 120_000);

it('reads tasks from a database, several times over, and goes on where it was killed', async () => {
  const database = new DatabaseSync(path.join(workspace.root, 'tasks.db'));
  database.exec('CREATE TABLE sums (id INTEGER PRIMARY KEY, question TEXT, answer TEXT)');
  for (let id = 1; id <= 12; id++)
    database.exec(`INSERT INTO sums VALUES (${id}, '${id}+1=', '${(id + 1) % 10}')`);
  database.close();
  // Twelve tasks make three explore steps of four tasks per epoch, and the run has two epochs.
  const over: readonly Tree[] = [
    taskset({
      name: 'sums',
      storage_type: 'sql',
      path: 'sqlite:///tasks.db',
      data_selector: { selector_type: 'shuffle' },
    }),
    { buffer: { total_steps: undefined, total_epochs: 2 } },
  ];
  await finishHere(workspace, 'sql', ...over);
  expect(recordOf('sql').lines.filter(({ role }) => role === 'explorer')).toHaveLength(6);
  const again = workspace.config('sql_killed.yaml', { name: 'sql_killed' }, ...over);
  const point = { call: 'commit', match: '', nth: 8, when: 'before' } as const;
  const { signal, stderr } = await killedTrinity(workspace.root, runArgs(again), point);
  expect([signal, stderr]).toEqual(['SIGKILL', '']);
  expect((await runHere(workspace, again)).error).toBeUndefined();
  expect(recordOf('sql_killed')).toEqual(recordOf('sql'));
}, 60_000);

it('lets people choose between the answers of a run', async () => {
  await finishHere(workspace, 'compared', { buffer: { total_steps: 2 } });
  const at = (file: string): string => path.join(workspace.root, file);
  const trinity = async (...args: string[]) =>
    expect(await mainHere(...args)).toMatchObject({ exitCode: 0, stderr: '' });
  const database = path.join(job('compared'), 'buffer/experience_buffer.db');
  const tasks = ['--tasks', at('tasks.jsonl'), '--prompt-key', 'question'];
  await trinity('pairs', database, ...tasks, '--output', at('pairs.jsonl'));
  const pairs = workspace.read('pairs.jsonl').trim().split('\n');
  expect(pairs.length).toBeGreaterThan(2);
  const decided = pairs.map((line, i) => ({
    ...(JSON.parse(line) as Tree),
    preferred: i % 2 ? 1 : 2,
  }));
  const rows = decided.map((pair) => `${JSON.stringify(pair)}\n`);
  workspace.write('decided.jsonl', `\uFEFF${rows.join('')}`);
  await trinity('pairs', at('decided.jsonl'), '--output', at('chosen.jsonl'));
  await finishHere(workspace, 'chosen', {
    mode: 'train',
    algorithm: { algorithm_type: 'dpo', repeat_times: undefined, kl_loss_fn: undefined },
    buffer: {
      total_steps: 2,
      train_batch_size: 2,
      trainer_input: {
        experience_buffer: {
          storage_type: 'file',
          path: 'chosen.jsonl',
          format: { prompt_type: 'plaintext' },
        },
      },
    },
  });
  expect(weightsDigest(job('chosen'))).not.toEqual(weightsDigest(job('compared')));
}, 60_000);
