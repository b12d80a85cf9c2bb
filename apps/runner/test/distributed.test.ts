/** Tests that a trainer with remote explorers trains on the same data as a single process. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { causesOf, openStatus, renderCauses, reportRun } from '@trinity-rft/inspect';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { runHere, type RunHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/twice.ts', twice);
  workspace.write('plugins/halting.ts', halting);
  workspace.write('plugins/judged.ts', judged);
  workspace.write('plugins/unjudged.ts', unjudged);
  const rows = Array.from({ length: 40 }, (_, i) => ({
    question: `${i % 10}+${i % 7}=`,
    answer: String(((i % 10) + (i % 7)) % 10),
    weak: (i % 5) / 10,
    strong: 0.5 + (i % 5) / 10,
  }));
  workspace.write('rated.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});

/** Workflow with two calls, the second of which continues the first. */
const twice = `
import { defineWorkflow } from '@trinity-rft/workflow';
export const twice = defineWorkflow({
  name: 'twice',
  run: async ({ task, model }) => {
    const messages = [{ role: 'user', content: String(task.rawTask['question']) }];
    const [first] = await model.chat(messages);
    messages.push({ role: 'assistant', content: first.responseText }, { role: 'user', content: '+' });
    const [second] = await model.chat(messages);
    // The runs of every second task are all alike.
    return task.index.row % 2 ? 0 : (first.responseText + second.responseText).length % 3;
  },
});
`;

/**
 * Workflow in which two of the four runs of every second task never end. The other tasks end once
 * the remaining runs of those tasks have ended.
 */
const halting = `
import { defineWorkflow } from '@trinity-rft/workflow';
const ended = new Map();
export const halting = defineWorkflow({
  name: 'halting',
  run: async ({ task, model, runId }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    const run = Number(runId.split('/').at(-1));
    if (task.taskId % 2 === 1 && run > 1) await new Promise(() => undefined);
    if (task.taskId % 2 === 1) ended.set(task.batchId, (ended.get(task.batchId) ?? 0) + 1);
    while (task.taskId % 2 === 0 && (ended.get(task.batchId) ?? 0) < 4)
      await new Promise((resolve) => setTimeout(resolve, 20));
    return answer.responseText.length;
  },
});
`;

/** Workflow in which every second task is scored after its runs. */
const judged = `
import { defineWorkflow } from '@trinity-rft/workflow';
async function judge({ baseURL, apiKey }, run) {
  const headers = { authorization: 'Bearer ' + apiKey };
  const body = JSON.stringify({ run, reward: Number(run.at(-1)) });
  for (let status = 404; status === 404; )
    ({ status } = await fetch(baseURL + '/rewards', { method: 'POST', headers, body }));
}
export const judged = defineWorkflow({
  name: 'judged',
  run: async ({ task, model, runId }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    if (task.taskId % 2 === 0) return answer.responseText.length;
    const endpoint = model.endpoint();
    setTimeout(() => void judge(endpoint, runId), 50);
    return { pending: true, deadlineMs: 3_600_000 };
  },
});
`;

/** Workflow in which every second task waits for a reward that nothing gives. */
const unjudged = judged
  .replaceAll('judged', 'unjudged')
  .replace('setTimeout(() => void judge(endpoint, runId), 50);', '');

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

/** Runs one trainer and one explorer in this process; if one fails, the other is ended. */
function distributed(name: string, over: readonly Tree[], interrupt?: AbortSignal) {
  const file = workspace.config(`${name}.yaml`, { name }, ...over);
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, ...(interrupt ? [interrupt] : [])]);
  const side = async (overrides: Tree): Promise<RunHere> => {
    const ended = await runHere(workspace, file, { overrides, signal });
    if (ended.error) failed.abort();
    return ended;
  };
  return Promise.all([
    side({ mode: 'train' }),
    side({ mode: 'explore', explorer: { name: 'one' } }),
  ]);
}

/** Interrupts trainer and explorer once the trainer has made a step, and starts both again. */
async function distributedWithBreak(
  name: string,
  over: readonly Tree[],
): Promise<readonly RunHere[]> {
  const interrupt = new AbortController();
  const first = distributed(name, over, interrupt.signal);
  while (!metricLines(job(name)).some(({ role }) => role === 'trainer')) await pause(20);
  interrupt.abort();
  return [...(await first), ...(await distributed(name, over))];
}

const recordOf = (name: string) => ({
  digest: weightsDigest(job(name)),
  rows: usedRows(path.join(job(name), 'buffer/experience_buffer.db')),
  lines: metricLines(job(name)).toSorted((a, b) => a.role.localeCompare(b.role) || a.step - b.step),
});

async function expectAlike(name: string, ...over: readonly Tree[]): Promise<void> {
  const together = `${name}_both`;
  const both = await runHere(
    workspace,
    workspace.config(`${together}.yaml`, { name: together }, ...over),
  );
  expect(both.error).toBeUndefined();
  const sides = await distributedWithBreak(name, over);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  expect(recordOf(name)).toEqual(recordOf(together));
}

/** Counts the experiences in the shared store by use: trained, unused, or the reason they were discarded. */
function usesOf(name: string): Readonly<Record<string, number>> {
  const database = new DatabaseSync(path.join(job(name), 'run.db'), { readOnly: true });
  const rows = database
    .prepare(
      `SELECT CASE WHEN use.uid IS NULL THEN 'unused' ELSE coalesce(reason, 'trained') END AS what,
         count(*) AS count
       FROM experience LEFT JOIN use USING (run, uid) GROUP BY what`,
    )
    .all();
  database.close();
  return Object.fromEntries(rows.map(({ what, count }) => [String(what), Number(count)]));
}

it('fills batches, orders tasks by results and merges calls', { timeout: 120_000 }, async () => {
  const format = { prompt_key: 'question', response_key: 'answer' };
  await expectAlike('filled', {
    algorithm: { algorithm_type: 'dapo' },
    buffer: {
      total_steps: 3,
      explorer_input: {
        tasksets: [
          {
            name: 'sums',
            path: 'rated.jsonl',
            format,
            data_selector: {
              selector_type: 'difficulty_based',
              feature_keys: ['weak', 'strong'],
              kwargs: { tau: 0.05, do_sample: true },
            },
          },
        ],
        default_workflow_type: 'twice',
      },
    },
    data_processor: {
      experience_pipeline: {
        operators: [{ name: 'pass_rate_calculator' }, { name: 'dapo_dynamic_sampling' }],
      },
    },
    explorer: { experience_shape: 'trajectory' },
  });
  const { filtered = 0, ...uses } = usesOf('filled');
  expect(uses).toEqual({ trained: 48, merged: 48 });
  expect(filtered).toBeGreaterThan(0);
});

it('fills batches with earlier experiences', { timeout: 120_000 }, async () => {
  await expectAlike('replayed', {
    buffer: {
      total_steps: 4,
      train_batch_size: 32,
      trainer_input: {
        experience_buffer: {
          replay_buffer: {
            enable: true,
            priority_fn: 'decay_limit_randomization',
            priority_fn_args: { use_count_limit: 2, sigma: 2 },
            reuse_cooldown_time: 0,
          },
        },
      },
    },
  });
  expect(usesOf('replayed')).toEqual({ trained: 96 });
});

it(
  'copies groups in place of those that teach nothing, and mixes experts in',
  { timeout: 120_000 },
  async () => {
    await expectAlike('copied', {
      algorithm: {
        algorithm_type: 'mix',
        advantage_fn_args: { std_threshold: 0, duplicate_experiences: true },
        sample_strategy_args: { expert_data_ratio: 0.25 },
      },
      buffer: {
        train_batch_size: 16,
        total_steps: 3,
        explorer_input: { default_workflow_type: 'twice' },
        trainer_input: {
          auxiliary_buffers: {
            sft_dataset: {
              name: 'experts',
              storage_type: 'file',
              path: 'tasks.jsonl',
              format: { prompt_type: 'plaintext', prompt_key: 'question', response_key: 'answer' },
            },
          },
        },
      },
      explorer: { experience_shape: 'trajectory' },
    });
    const copies = recordOf('copied').rows.filter(({ uid }) => uid.includes('+'));
    expect(copies.length).toBeGreaterThan(0);
    expect(copies.some(({ trainStep }) => trainStep !== undefined)).toBe(true);
  },
);

const short = (workflow: string): Tree => ({
  buffer: { total_steps: 2, explorer_input: { default_workflow_type: workflow } },
});

it('does not wait for the slowest tasks', { timeout: 120_000 }, async () => {
  const overRollout = { ratio: 0.5, wait_after_min: 0, return_partial_tasks: true };
  const sides = await distributed('cut', [
    short('halting'),
    { explorer: { over_rollout: overRollout } },
  ]);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  const explored = metricLines(job('cut')).filter(({ role }) => role === 'explorer');
  for (const { metrics } of explored)
    expect(metrics).toMatchObject({
      'rollout/runs/cancelled': 4,
      'rollout/tasks/partial': 2,
      'rollout/runs/failed': 0,
    });
  expect(usesOf('cut')).toEqual({ trained: 24 });
});

it('trains runs when their rewards have come to the explorer', { timeout: 120_000 }, async () => {
  const sides = await distributed('judged', [short('judged')]);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  const { rows } = recordOf('judged');
  expect(rows).toHaveLength(32);
  expect(rows.filter(({ uid }) => uid.includes('/late-'))).toHaveLength(16);
  expect(rows.every(({ trainStep }) => trainStep !== undefined)).toBe(true);
  expect(usesOf('judged')).toEqual({ trained: 16, 'waits for its reward': 16 });
});

function hasMember(name: string, role = 'explorer'): boolean {
  try {
    const database = new DatabaseSync(path.join(job(name), 'run.db'), { readOnly: true });
    const found = database.prepare('SELECT name FROM member WHERE role = ?').all(role);
    database.close();
    return found.length > 0;
  } catch {
    // The file or its tables do not exist yet.
    return false;
  }
}

it.each(['both', 'distributed'])(
  'says in mode %s that it waits for rewards once all tasks are explored',
  { timeout: 120_000 },
  async (mode) => {
    const name = `unjudged_${mode}`;
    const file = workspace.config(`${name}.yaml`, { name }, short('unjudged'));
    const interrupt = new AbortController();
    const { signal } = interrupt;
    // Ends the loop and the runs at a timeout, too.
    onTestFinished(() => interrupt.abort());
    const run =
      mode === 'both'
        ? [runHere(workspace, file, { signal })]
        : [distributed(name, [short('unjudged')], signal)];
    let why = '';
    while (!why.includes('the rewards of 4 tasks') && !signal.aborted) {
      await pause(100);
      const reader = await openStatus(job(name)).catch(() => undefined);
      const status = await reader?.look().catch(() => undefined);
      why = status === undefined ? '' : renderCauses(causesOf(status));
      await reader?.close();
    }
    interrupt.abort();
    expect((await Promise.all(run)).flat().flatMap(({ error }) => error ?? [])).toEqual([]);
  },
);

it(
  'refuses explorers once one process has continued alone, which then continues',
  { timeout: 120_000 },
  async () => {
    const steps = (total_steps: number): Tree => ({ buffer: { total_steps } });
    const alone = async (name: string, ...over: readonly Tree[]): Promise<string> => {
      const { error } = await runHere(
        workspace,
        workspace.config(`${name}.yaml`, { name }, ...over),
      );
      expect(error).toBeUndefined();
      return weightsDigest(job(name));
    };
    const whole = await alone('undisturbed', steps(4));
    const path: Tree = {
      buffer: { trainer_input: { experience_buffer: { path: 'sqlite:///others.db' } } },
    };
    // The first run creates the shared store.
    await distributed('left', [path, steps(1)]);
    const status = await openStatus(`${workspace.root}/left.yaml`, { cwd: workspace.root });
    expect(await status.look()).toMatchObject({ trainStep: 1 });
    for (const name of ['left', 'began']) {
      await alone(name, path, steps(3));
      const [trainer] = await distributed(name, [path, steps(4)]);
      expect(trainer.error).toMatchObject({
        name: 'ConfigError',
        message: expect.stringMatching(
          /cannot continue with explorers: it is at explore step 3 .* Continue in one process/,
        ) as unknown,
      });
      expect(await alone(name, path, steps(4))).toBe(whole);
    }
    await expect(status.look()).rejects.toThrow(/The last one finished after train step 4/);
    await status.close();
  },
);

it('shows that an explorer explores', { timeout: 120_000 }, async () => {
  const long: Tree = { name: 'long', buffer: { total_steps: 1000 } };
  const file = workspace.config('long.yaml', long);
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const terminal = {
    write: (text: string) => void (text.includes('exploring') && interrupt.abort()),
    isTTY: true,
    columns: () => 80,
  };
  const ended = await Promise.all([
    runHere(workspace, file, { overrides: { mode: 'train' }, signal }),
    runHere(workspace, file, { overrides: { mode: 'explore' }, signal, terminal }),
  ]);
  expect(ended.map(({ summary }) => summary?.interrupted)).toEqual([true, true]);
});

it('refuses a process whose configuration differs, and says in what', async () => {
  const own = (name: string, over: Tree): string =>
    workspace.config(`${name}.yaml`, { name: 'agree' }, over);
  workspace.write('copy/tasks.jsonl', workspace.read('tasks.jsonl'));
  workspace.write('other/tasks.jsonl', `${workspace.read('tasks.jsonl')}\n`);
  const tasks = (folder: string): Tree => ({
    buffer: {
      explorer_input: {
        tasksets: [
          { name: 'sums', path: `${folder}/tasks.jsonl`, format: { prompt_key: 'question' } },
        ],
      },
    },
  });
  const stop = new AbortController();
  const explore = (who: string, file: string): Promise<RunHere> =>
    runHere(workspace, file, {
      overrides: { mode: 'explore', explorer: { name: who } },
      signal: stop.signal,
    });
  const first = explore('one', own('first', tasks('copy')));
  while (!hasMember('agree')) await pause(20);
  const [seeded, reworded] = await Promise.all([
    explore('two', own('seeded', { ...tasks('.'), seed: 8 })),
    explore('three', own('reworded', tasks('other'))),
  ]);
  stop.abort();
  expect((await first).error).toBeUndefined();
  expect(seeded.error?.message).toMatch(
    /explorer two cannot join the run: its seed is 8, and that of the explorer one \(process \d+ on .*\), .* is 7/,
  );
  expect(reworded.error?.message).toContain('tasksets[0].path is a file with the SHA-256');
});

const evaluated: Tree = {
  buffer: {
    total_steps: 3,
    explorer_input: {
      eval_tasksets: [{ name: 'held', path: 'eval.jsonl', format: { prompt_key: 'question' } }],
    },
  },
  explorer: { eval_interval: 2 },
};

/** Workflow whose explore step `step` ends once the file `gate` exists. */
const gatedBy = (gate: string, name = 'gated', step = '2'): string => `
import { existsSync, writeFileSync } from 'node:fs';
import { defineWorkflow } from '@trinity-rft/workflow';
export const gated = defineWorkflow({
  name: '${name}',
  run: async ({ task, model }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    const waits = String(task.batchId).split('/')[0] === '${step}';
    if (waits) writeFileSync(${JSON.stringify(`${gate}.reached`)}, String(task.batchId));
    while (waits && !existsSync(${JSON.stringify(gate)}))
      await new Promise((resolve) => setTimeout(resolve, 20));
    return answer.responseText.length;
  },
});
`;

const exploreAlone = (file: string, signal?: AbortSignal): Promise<RunHere> =>
  runHere(workspace, file, { overrides: { mode: 'explore' }, alone: true, signal });

const stored = (name: string): number => Number(usesOf(name)['unused'] ?? 0);

/** Returns the version of the newest published weights. */
function newestVersion(name: string): unknown {
  const database = new DatabaseSync(path.join(job(name), 'run.db'), { readOnly: true });
  try {
    return database.prepare('SELECT max(version) AS version FROM weights').get()?.['version'];
  } finally {
    database.close();
  }
}

/** Returns the steps of the evaluations of a run. */
const evaluationsOf = (name: string): readonly number[] =>
  metricLines(job(name))
    .filter(({ metrics }) => 'eval/held/task_count' in metrics)
    .map(({ step }) => step);

it('explores alone, for a trainer that comes later', { timeout: 120_000 }, async () => {
  const file = workspace.config('lone.yaml', { name: 'lone' }, evaluated);
  const interrupt = new AbortController();
  const first = exploreAlone(file, interrupt.signal);
  while (!hasMember('lone') || stored('lone') === 0) await pause(5);
  interrupt.abort();
  expect((await first).error).toBeUndefined();
  expect(stored('lone')).toBeLessThan(48);
  const second = await exploreAlone(file);
  expect(second.error).toBeUndefined();
  expect(second.output).toContain('3 steps alone, with the weights that the run starts from');
  expect(usesOf('lone')).toEqual({ unused: 48 });

  const train = { overrides: { mode: 'train' } };
  await expect(reportRun(job('lone'))).rejects.toThrow('only explorers have worked there');
  const other = workspace.config('seeded.yaml', { name: 'lone', seed: 8 }, evaluated);
  expect((await runHere(workspace, other, train)).error?.message).toMatch(
    /its seed is 8, and that of the explorer that has explored alone is 7/,
  );
  expect((await exploreAlone(other)).error?.message).toMatch(
    /The explorer cannot join the run: its seed is 8/,
  );
  const { error, output } = await runHere(workspace, file, train);
  expect(error).toBeUndefined();
  expect(output).toMatch(/Explore steps 1 to 3 were .* off-policy. Evaluations are left out/);
  expect(usesOf('lone')).toEqual({ trained: 48 });

  const whole = workspace.config('whole.yaml', { name: 'whole' }, evaluated);
  expect((await exploreAlone(whole)).error).toBeUndefined();
  expect((await runHere(workspace, whole, train)).error).toBeUndefined();
  expect(weightsDigest(job('whole'))).toBe(weightsDigest(job('lone')));
});

it('evaluates a run made longer after it was explored alone', { timeout: 120_000 }, async () => {
  const file = workspace.config('longer.yaml', { name: 'longer' }, evaluated, {
    buffer: { total_steps: 1 },
  });
  expect((await exploreAlone(file)).error).toBeUndefined();
  const sides = await distributed('longer', [evaluated]);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  expect(sides[0].output).toContain('Explore steps 1 to 1 were explored without a trainer');
  expect(sides[0].output).not.toContain('Evaluations are left out');
  expect(evaluationsOf('longer')).toEqual([2, 4]);
  expect(usesOf('longer')).toEqual({ trained: 48 });
});

it.each([
  ['the last boundary lies before its last step', { sync_interval: 2 }],
  ['explorers do not wait for the last step', { sync_offset: 1 }],
])(
  'trains on after its final evaluation when it is made longer and %s',
  { timeout: 120_000 },
  async (_, synchronizer) => {
    const name = Object.keys(synchronizer).join();
    const short = await distributed(name, [evaluated, { synchronizer }]);
    expect(short.flatMap(({ error }) => error ?? [])).toEqual([]);
    const longer = [evaluated, { synchronizer, buffer: { total_steps: 5 } }];
    const sides = await distributed(name, longer);
    expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(usesOf(name)).toEqual({ trained: 80 });
  },
);

it.each([{ sync_interval: 2 }, { sync_offset: 1 }])(
  'trains on when it is made longer after a stop in its final evaluation, %o',
  { timeout: 120_000 },
  async (synchronizer) => {
    const name = `stopped_${Object.keys(synchronizer).join()}`;
    const gate = path.join(workspace.root, name);
    workspace.write(`plugins/${name}.ts`, gatedBy(gate, name, '4'));
    const held = { name: 'held', path: 'eval.jsonl', format: { prompt_key: 'question' } };
    const gated: Tree = {
      synchronizer,
      buffer: {
        explorer_input: { eval_tasksets: [{ ...held, default_workflow_type: name }] },
      },
    };
    const interrupt = new AbortController();
    const first = distributed(name, [evaluated, gated], interrupt.signal);
    while (!existsSync(`${gate}.reached`)) await pause(5);
    interrupt.abort();
    expect((await first).flatMap(({ error }) => error ?? [])).toEqual([]);
    workspace.write(name, '');
    const longer = [evaluated, gated, { buffer: { total_steps: 5 } }];
    const file = workspace.config(`${name}.yaml`, { name }, ...longer);
    const trainer = runHere(workspace, file, { overrides: { mode: 'train' } });
    // The weights of the stopped evaluation are gone before an explorer could sample with them.
    while (newestVersion(name) === 3) await pause(5);
    const explorer = runHere(workspace, file, {
      overrides: { mode: 'explore', explorer: { name: 'one' } },
    });
    const sides = await Promise.all([trainer, explorer]);
    expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
    expect(usesOf(name)).toEqual({ trained: 80 });
    expect(evaluationsOf(name)).toEqual([2, 4, 6]);
  },
);

it('explores alone only in mode explore, where tasks do not depend on training', async () => {
  const file = workspace.config('never.yaml', { name: 'never' });
  const both = await runHere(workspace, file, { alone: true });
  expect(both.error?.message).toMatch(/the mode is both; expected explore. Add --mode explore/);
  const filled = workspace.config('fills.yaml', {
    name: 'fills',
    algorithm: { algorithm_type: 'dapo' },
    data_processor: { experience_pipeline: { operators: [{ name: 'dapo_dynamic_sampling' }] } },
  });
  expect((await exploreAlone(filled)).error?.message).toMatch(
    /^--alone: An explorer cannot explore this run alone: dynamic sampling/,
  );
});

it('follows a trainer that joins an explorer on its own', { timeout: 120_000 }, async () => {
  workspace.write('plugins/gated.ts', gatedBy(path.join(workspace.root, 'gate')));
  const file = workspace.config('joined.yaml', { name: 'joined' }, evaluated, {
    buffer: { explorer_input: { default_workflow_type: 'gated' } },
  });
  const explorer = exploreAlone(file);
  while (!hasMember('joined') || stored('joined') === 0) await pause(5);
  const trainer = runHere(workspace, file, { overrides: { mode: 'train' } });
  while (!hasMember('joined', 'trainer')) await pause(5);
  workspace.write('gate', '');
  const sides = await Promise.all([explorer, trainer]);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  expect(sides[0].output).toContain('A trainer has joined');
  expect(evaluationsOf('joined')).toEqual([2, 4]);
  expect(usesOf('joined')).toEqual({ trained: 48 });
});

it('says that a program starts explorers itself', async () => {
  const file = workspace.config('alone.yaml', { name: 'alone', cluster: { explorers: 2 } });
  const { output } = await runHere(workspace, file, { signal: AbortSignal.abort() });
  expect(output).toContain('cluster.explorers 2 has no effect here');
});
