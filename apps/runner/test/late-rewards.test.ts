/** Tests rewards that arrive from another program, during the run or after it was stopped. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lateRewardsBeside } from '@trinity-rft/buffer/late-rewards';
import { beforeAll, expect, it, vi } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows } from './support/run-record.js';
import { killedTrinity, runArgs, startTrinity } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

/** Workflow in which another program scores every second task. */
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

/** Workflow that writes the address and the key of its model to a file for the scorer. */
const outside = `
import { appendFileSync } from 'node:fs';
import { defineWorkflow } from '@trinity-rft/workflow';
export const outside = defineWorkflow({
  name: 'outside',
  run: async ({ task, model, runId }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
    if (task.taskId % 2 === 0) return answer.responseText.length;
    const { baseURL, apiKey } = model.endpoint();
    appendFileSync(process.env.OUTSIDE_RUNS, JSON.stringify({ runId, baseURL, apiKey }) + '\\n');
    return { pending: true, deadlineMs: runId === '1/1/0' ? 0 : 3_600_000 };
  },
});
`;

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('plugins/asked.ts', plugin.replace('DEADLINE', '3_600_000'));
  workspace.write('plugins/outside.ts', outside);
  workspace.write(
    'plugins/unasked.ts',
    plugin
      .replace('DEADLINE', '0')
      .replaceAll("'asked'", "'unasked'")
      .replace('const asked', 'const unasked'),
  );
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const config = (name: string, workflow: string, over: Tree = {}): string =>
  workspace.config(
    `${name}.yaml`,
    { name, buffer: { total_steps: 3, explorer_input: { default_workflow_type: workflow } } },
    over,
  );

/** Scores all waiting runs until `done`; the reward is the number of the run. */
async function scoreAll(name: string, done: { value: boolean }): Promise<void> {
  const rewards = lateRewardsBeside(path.join(job(name), 'buffer/experience_buffer.db'));
  while (!done.value) {
    for (const { run } of rewards.waiting()) rewards.score(run, Number(run.at(-1)));
    await sleep(20);
  }
}

/** Expects that 48 experiences (3 steps of 4 tasks with 4 runs) were trained on exactly once. */
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
    // The run is killed when the first explore step is stored, and the second is recorded but not
    // stored.
    const point = { call: 'append', match: 'metrics.jsonl', nth: 3, when: 'after' } as const;
    const killed = await killedTrinity(workspace.root, runArgs(file), point);
    expect(killed.signal).toBe('SIGKILL');
    const trinity = (...args: string[]) => startTrinity(workspace.root, args).ended;
    const listed = await trinity('reward', file);
    expect(listed.stdout).toMatch(/^1\/1\/0 {2}until 20\d\d-/);
    expect((await trinity('reward', file, '1/1/0', '0')).exitCode).toBe(0);
    const refused = await trinity('reward', job('killed'), '1/1/0', '5');
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

interface Outside {
  readonly runId: string;
  readonly baseURL: string;
  readonly apiKey: string;
}

/** Posts to the rewards route of the run's endpoint; returns status and error code as text. */
async function post(from: Outside, body: unknown, apiKey = from.apiKey): Promise<string> {
  const response = await fetch(`${from.baseURL}/rewards`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const { error } = (await response.json()) as { readonly error?: { readonly code: string } };
  return error ? `${response.status} ${error.code}` : `${response.status}`;
}

/**
 * Posts the reward until the run is stored; returns the status, and the error code if there is one.
 */
async function given(run: Outside, reward: number): Promise<string> {
  for (;;) {
    const answer = await post(run, { run: run.runId, reward });
    if (answer !== '404 reward_unknown') return answer;
    await sleep(20);
  }
}

it(
  'takes them over HTTP, from whoever has the key of the run, or of all',
  { timeout: 240_000 },
  async () => {
    const notes = path.join(workspace.root, 'outside.jsonl');
    vi.stubEnv('OUTSIDE_RUNS', notes);
    const ofAll = 'a-key-for-the-rewards-of-all-runs';
    const env = { TRINITY_REWARD_KEY: ofAll };
    const over = { explorer: { failure_reward: -1 } };
    const ended = runHere(workspace, config('outside', 'outside', over), { env });
    const runs = (): Outside[] =>
      existsSync(notes)
        ? readFileSync(notes, 'utf8')
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as Outside)
        : [];
    const noted = (count: number) =>
      vi.waitFor(() => expect(runs()).toHaveLength(count), { timeout: 200_000, interval: 20 });
    await noted(8);
    const [first, other] = runs().filter(({ runId }) => runId !== '1/1/0') as [Outside, Outside];
    const own = { run: first.runId, reward: 0.5 };
    expect(await post(first, own, 'rk_unknown')).toBe('401 invalid_api_key');
    expect(await post(first, own, other.apiKey)).toBe('401 invalid_api_key');
    expect(await post(first, { ...own, run: other.runId })).toBe('403 run_of_another_key');
    expect(await post(first, { ...own, reward: 'good' })).toBe('422 reward_unusable');
    expect(await post(first, '{"run"')).toBe('400 invalid_json');
    expect(await given(first, 1e10)).toBe('422 reward_unusable');
    const byId: Outside = {
      ...first,
      baseURL: `${new URL(first.baseURL).origin}/v1`,
      apiKey: ofAll,
    };
    expect(await post(byId, own, first.apiKey)).toBe('401 invalid_api_key');
    expect(await post(first, own, ofAll)).toBe('401 invalid_api_key');
    expect(await given(byId, 0.5)).toBe('200');
    expect(await given({ ...byId, runId: other.runId }, Number(other.runId.at(-1)))).toBe('200');
    expect(await post(first, own)).toBe('200');
    expect(await post(first, { ...own, reward: 1 })).toBe('409 reward_scored');
    await noted(24);
    for (const run of runs()) {
      const expected = run.runId === '1/1/0' ? '410 reward_late' : '200';
      expect(await given(run, run.runId === first.runId ? 0.5 : Number(run.runId.at(-1)))).toBe(
        expected,
      );
    }
    expect((await ended).error).toBeUndefined();
    expectAllTrained('outside');
    await expect(post(first, own)).rejects.toThrow('fetch failed');
  },
);
