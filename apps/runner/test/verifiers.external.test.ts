/**
 * Tests `trinity run` on an environment of verifiers, whose server runs the agent while our
 * endpoint records the calls.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { findPython, freePort } from '@trinity-rft/test-support';
import { afterAll, expect, it } from 'vitest';
import { metricLines, usedRows, type Metrics } from './support/run-record.js';
import { trinity } from './support/trinity.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

const [steps, tasksPerStep, runsPerTask] = [10, 4, 4];
const servers: ChildProcess[] = [];
afterAll(() => {
  for (const server of servers) server.kill('SIGTERM');
});

interface Served {
  readonly address: string;
  /** Task rows, one of which makes its grader fail. */
  readonly rows: readonly object[];
}

async function serve(python: string): Promise<Served> {
  const address = `tcp://127.0.0.1:${await freePort()}`;
  const folder = path.join(import.meta.dirname, 'external');
  const server = spawn(python, [path.join(folder, 'digits_v1.py'), address], {
    env: { ...process.env, PYTHONPATH: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  servers.push(server);
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  return { address, rows: JSON.parse(line) as readonly object[] };
}

/** Sets up a user's project: the package in node_modules, the tasks in a file, and a YAML that names both. */
function prepare({ root, config }: Workspace, { address, rows }: Served): string {
  const scope = path.join(root, 'node_modules', '@trinity-rft');
  mkdirSync(scope, { recursive: true });
  const integration = path.join(import.meta.dirname, '../../../integrations/verifiers');
  symlinkSync(integration, path.join(scope, 'verifiers'));
  writeFileSync(
    path.join(root, 'rows.jsonl'),
    rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
  return config('verifiers.yaml', {
    name: 'verifiers',
    plugins: ['@trinity-rft/verifiers'],
    algorithm: { repeat_times: runsPerTask },
    explorer: { environment_failures: { max_retry_times: 1 } },
    buffer: {
      batch_size: tasksPerStep,
      total_steps: steps,
      explorer_input: {
        tasksets: [
          {
            name: 'digits',
            path: 'rows.jsonl',
            format: { prompt_key: 'prompt' },
            workflow_args: { address, start_timeout: 120, timeout: 120 },
          },
        ],
        default_workflow_type: 'verifiers_workflow',
        default_reward_fn_type: null,
      },
    },
  });
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

it(
  'trains on the rewards of the server, and not on a grader that breaks',
  { tags: ['external'], timeout: 1_800_000 },
  async ({ skip }) => {
    const python = await findPython(['verifiers==0.4.0']);
    if ('missing' in python) return skip(python.missing);
    const workspace = await createWorkspace();
    const config = prepare(workspace, await serve(python.program));
    const { exitCode, stdout, stderr } = await trinity(workspace.root, 'run', config);
    if (exitCode !== 0) throw new Error(stdout + stderr);

    const job = path.join(workspace.root, 'runs/tests/verifiers');
    const lines = metricLines(job);
    const of = (role: string): readonly Metrics[] =>
      lines.filter((line) => line.role === role).map(({ metrics }) => metrics);
    for (const metrics of of('explorer'))
      expect(metrics['rollout/reward/mean']).toBe(metrics['rollout/score/digits/mean']);
    // All runs of the broken task are counted as failed, and none of them is trained on.
    const broken = of('explorer').map((metrics) => metrics['rollout/runs/environment_failed'] ?? 0);
    expect(Math.max(...broken)).toBe(runsPerTask);
    const rewards = of('explorer').map((metrics) => metrics['rollout/reward/mean'] ?? 0);
    expect(mean(rewards.slice(-3))).toBeGreaterThan(mean(rewards.slice(0, 3)));
    expect(Math.max(...of('trainer').map((m) => m['actor/grad_norm'] ?? 0))).toBeGreaterThan(0);

    const recorded = readFileSync(path.join(job, 'monitor/rollouts.jsonl'), 'utf8');
    for (const line of recorded.trim().split('\n')) {
      const { reward, response_text: text } = JSON.parse(line) as Recorded;
      expect(reward).toBe([...text].filter((letter) => /\d/.test(letter)).length / 4);
    }
    const used = usedRows(path.join(job, 'buffer/experience_buffer.db'));
    const failed = broken.reduce((sum, count) => sum + count, 0);
    expect(used).toHaveLength(steps * tasksPerStep * runsPerTask - failed);
    for (const { trainStep } of used) expect(trainStep).toBeDefined();
    const log = readFileSync(path.join(job, 'log/trinity.log'), 'utf8');
    expect(log).toMatch(/the grader broke/);
    expect(stdout + stderr + log).not.toMatch(/rk_[\w-]{8}/);
  },
);

interface Recorded {
  readonly reward: number;
  readonly response_text: string;
}
