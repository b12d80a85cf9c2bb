/** Runs whose rewards come from outside, while the run goes on or after it was stopped. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scoreRun, waitingRuns } from '@trinity-rft/buffer';
import { beforeAll, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows } from './support/run-record.js';
import { killedTrinity, runArgs, startTrinity } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

/** Every second task is scored by somebody else. */
const plugin = `
import { defineWorkflow } from '@trinity-rft/workflow';
export const asked = defineWorkflow({
  name: 'asked',
  run: async ({ task, model, runId }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    if (task.taskId % 2 === 0) return answer.responseText.length;
    return { pending: true, deadlineMs: DEADLINE, metrics: { asked: 1 }, info: { runId } };
  },
});
`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/asked.ts', plugin.replace('DEADLINE', '3_600_000'));
  workspace.write(
    'plugins/unasked.ts',
    plugin
      .replace('DEADLINE', '0')
      .replaceAll("'asked'", "'unasked'")
      .replace('const asked', 'const unasked'),
  );
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const late = (name: string): string => path.join(job(name), 'buffer/late_rewards.db');
const config = (name: string, workflow: string, over: Tree = {}): string =>
  workspace.config(
    `${name}.yaml`,
    { name, buffer: { total_steps: 3, explorer_input: { default_workflow_type: workflow } } },
    over,
  );

/** Scores whatever waits until `done`; the reward says which run it is of. */
async function scoreAll(name: string, done: { value: boolean }): Promise<void> {
  while (!done.value) {
    for (const { run } of waitingRuns(late(name))) scoreRun(late(name), run, Number(run.at(-1)));
    await sleep(20);
  }
}

/** 3 steps of 4 tasks of 4 runs, each trained exactly once. */
function expectAllTrained(name: string): void {
  const rows = usedRows(path.join(job(name), 'buffer/experience_buffer.db'));
  expect(rows).toHaveLength(48);
  expect(new Set(rows.map(({ uid }) => uid)).size).toBe(48);
  expect(rows.every(({ trainStep }) => trainStep !== undefined)).toBe(true);
  expect(rows.filter(({ uid }) => uid.includes('/late-'))).toHaveLength(24);
}

it('trains groups when all of their runs have a reward', { timeout: 240_000 }, async () => {
  const done = { value: false };
  const scoring = scoreAll('asked', done);
  const { error } = await runHere(workspace, config('asked', 'asked'));
  done.value = true;
  await scoring;
  expect(error).toBeUndefined();
  expectAllTrained('asked');
  const scored = metricLines(job('asked')).map(
    ({ metrics }) => metrics['rollout/late_rewards/scored'] ?? 0,
  );
  expect(scored.reduce((a, b) => a + b, 0)).toBe(24);
});

it(
  'waits for them over a kill, takes them from the command line, and refuses what it does not know',
  { timeout: 240_000 },
  async () => {
    const file = config('killed', 'asked');
    // The first explore step is stored, the second is recorded and not stored.
    const point = { call: 'append', match: 'metrics.jsonl', nth: 3, when: 'after' } as const;
    const killed = await killedTrinity(workspace.root, runArgs(file), point);
    expect(killed.signal).toBe('SIGKILL');
    const trinity = (...args: string[]) => startTrinity(workspace.root, args).ended;
    const listed = await trinity('reward', file);
    expect(listed.stdout).toMatch(/^1\/1\/0 {2}until 20\d\d-/);
    expect((await trinity('reward', file, '1/1/0', '0')).exitCode).toBe(0);
    const refused = await trinity('reward', path.dirname(late('killed')) + '/..', '1/1/0', '5');
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining('The reward of run "1/1/0" was refused: the run has another reward'),
    ]);
    const done = { value: false };
    const resumed = runHere(workspace, file);
    const scoring = scoreAll('killed', done);
    expect((await resumed).error).toBeUndefined();
    done.value = true;
    await scoring;
    expectAllTrained('killed');
  },
);

it('gives up at the deadline, or gives the failure reward', { timeout: 240_000 }, async () => {
  expect((await runHere(workspace, config('dropped', 'unasked'))).error).toBeUndefined();
  const rows = (name: string) => usedRows(path.join(job(name), 'buffer/experience_buffer.db'));
  expect(rows('dropped')).toHaveLength(24);
  const given = config('given', 'unasked', { explorer: { failure_reward: -1 } });
  expect((await runHere(workspace, given)).error).toBeUndefined();
  expect(rows('given')).toHaveLength(48);
});
