/** What a trainer assembles from the results of explorers: what one process does, and no less. */
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { runHere, type RunHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/twice.ts', twice);
  const rows = Array.from({ length: 40 }, (_, i) => ({
    question: `${i % 10}+${i % 7}=`,
    answer: String(((i % 10) + (i % 7)) % 10),
    weak: (i % 5) / 10,
    strong: 0.5 + (i % 5) / 10,
  }));
  workspace.write('rated.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});

/** Two calls, of which the second continues the first. */
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

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

/** One trainer and one explorer, in this process; when one fails, the other is ended. */
function apart(name: string, over: readonly Tree[], interrupt?: AbortSignal) {
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

/** Ends both sides once the trainer has made a step, and starts them again. */
async function apartWithBreak(name: string, over: readonly Tree[]): Promise<readonly RunHere[]> {
  const interrupt = new AbortController();
  const first = apart(name, over, interrupt.signal);
  while (!metricLines(job(name)).some(({ role }) => role === 'trainer')) await pause(20);
  interrupt.abort();
  return [...(await first), ...(await apart(name, over))];
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
  const sides = await apartWithBreak(name, over);
  expect(sides.flatMap(({ error }) => error ?? [])).toEqual([]);
  expect(recordOf(name)).toEqual(recordOf(together));
}

/** What became of the experiences in the store that the processes share. */
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
