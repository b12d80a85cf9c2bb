/** Tests explore steps that do not wait for every task, and explore steps that draw extra tasks. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere, runHere } from './support/run-here.js';
import {
  metricLines,
  usedRows,
  weightsDigest,
  type Metrics,
  type UsedRow,
} from './support/run-record.js';
import { killedTrinity, runArgs } from './support/trinity.js';
import { createWorkspace, evalTasksets, type Tree, type Workspace } from './support/workspace.js';

const agent = (name: string, body: string): string => `
import { defineWorkflow } from '@trinity-rft/workflow';
export const ${name} = defineWorkflow({
  name: '${name}',
  run: async ({ task, model }) => {
    const question = String(task.rawTask['question']);
    const [answer] = await model.chat([{ role: 'user', content: question }]);
    const text = answer.responseText;
    const sum = Number(/^\\d/.exec(question)?.[0]) + Number(/\\+(\\d)/.exec(question)?.[1]);
    ${body}
  },
});
`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  // In three of four tasks, all runs have the same reward.
  workspace.write('plugins/alike.ts', agent('alike', 'return sum % 4 ? 0 : text.length % 2;'));
  workspace.write(
    'plugins/stuck.ts',
    agent('stuck', 'return sum % 4 ? text.length : new Promise(() => undefined);'),
  );
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const rowsOf = (name: string): readonly UsedRow[] =>
  usedRows(path.join(job(name), 'buffer/experience_buffer.db'));
const explored = (name: string): readonly Metrics[] =>
  metricLines(job(name)).flatMap(({ role, metrics }) =>
    role === 'explorer' && 'rollout/model_version' in metrics ? [metrics] : [],
  );

const finish = async (name: string, ...over: readonly Tree[]): Promise<string> =>
  (await finishHere(workspace, name, ...over)).output;

const workflow = (name: string): Tree => ({
  buffer: { explorer_input: { default_workflow_type: name } },
});

describe('dapo, where the groups of most tasks are alike', () => {
  const dapo: readonly Tree[] = [
    // The learning rate is low, so that groups of the other tasks keep different rewards.
    {
      algorithm: { algorithm_type: 'dapo', optimizer: { lr: 1e-5 } },
      buffer: { total_steps: 4 },
    },
    workflow('alike'),
  ];

  it('trains full batches only, of groups that differ', { timeout: 240_000 }, async () => {
    await finish('dapo', ...dapo);
    expect(rowsOf('dapo').map(({ trainStep }) => trainStep)).toEqual(
      [1, 2, 3, 4].flatMap((step) => Array.from({ length: 16 }, () => step)),
    );
    expect(explored('dapo')).toHaveLength(4);
    for (const metrics of explored('dapo')) {
      expect(metrics).toMatchObject({
        'rollout/dynamic_sampling/missing': 0,
        'rollout/dynamic_sampling/bound_hit': 0,
        'experience_pipeline/group_advantages/zero_variance_ratio': 0,
      });
      expect(metrics['rollout/dynamic_sampling/tasks']).toBeGreaterThan(4);
    }
  });

  it(
    'ends in the same weights when it is killed in the middle',
    { tags: ['slow'], timeout: 240_000 },
    async () => {
      await finish('undisturbed', ...dapo);
      for (const [name, nth] of Object.entries({ early: 4, late: 7 })) {
        const config = workspace.config(`${name}.yaml`, { name }, ...dapo);
        const point = { call: 'commit', match: '', nth, when: 'after' } as const;
        expect((await killedTrinity(workspace.root, runArgs(config), point)).signal).toBe(
          'SIGKILL',
        );
        expect((await runHere(workspace, config)).error).toBeUndefined();
        expect(weightsDigest(job(name))).toBe(weightsDigest(job('undisturbed')));
        expect(rowsOf(name)).toEqual(rowsOf('undisturbed'));
      }
    },
  );

  it('is complete when its tasks are used up', { timeout: 240_000 }, async () => {
    const tree: Tree = { buffer: { total_steps: null, total_epochs: 1 } };
    await finish('epoch', ...dapo, tree);
    expect(explored('epoch').length).toBeLessThan(25);
    const again = await runHere(workspace, path.join(workspace.root, 'epoch.yaml'));
    expect(again.summary?.doneBefore).toBe(true);
  });
});

describe('an explore step of which some tasks never end', () => {
  const impatient = (style: string): Tree => ({
    buffer: { total_steps: 3 },
    explorer: {
      over_rollout: { ratio: 0.75, wait_after_min: 0, return_partial_tasks: true },
      dynamic_timeout: { enable: true, ratio: 2, warmup_min_steps: 1 },
    },
    synchronizer: { sync_style: style },
  });

  it.each(['fixed', 'dynamic_by_explorer'])(
    'ends without them and trains the others: %s',
    { timeout: 240_000 },
    async (style) => {
      await finish(style, workflow('stuck'), impatient(style));
      const steps = explored(style);
      expect(steps.length).toBeGreaterThan(0);
      const cancelled = steps.map((metrics) => metrics['rollout/runs/cancelled'] ?? 0);
      expect(Math.max(...cancelled)).toBeGreaterThan(0);
      for (const metrics of steps) {
        expect(metrics).toMatchObject({ 'rollout/runs/failed': 0, 'rollout/runs/timed_out': 0 });
        expect(metrics['rollout/attempts/time_limit/max']).toBeLessThanOrEqual(1800);
      }
      const rows = rowsOf(style);
      expect(new Set(rows.map(({ uid }) => uid)).size).toBe(rows.length);
    },
  );

  it('ends at the deadline of its tasks, evaluations included', { timeout: 240_000 }, async () => {
    await finish('deadline', workflow('stuck'), evalTasksets, {
      buffer: { total_steps: 2 },
      explorer: { max_task_timeout: 2, eval_interval: 1 },
    });
    const late = explored('deadline').map((metrics) => metrics['rollout/runs/timed_out'] ?? 0);
    expect(Math.max(...late)).toBeGreaterThan(0);
  });
});
