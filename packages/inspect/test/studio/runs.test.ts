/** Tests the list of runs: which folders are runs, and their summaries. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { lockRun, writeFailure } from '@trinity-rft/launcher/files';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reportRun } from '../../src/index.js';
import { jobFolder, openStudio, type Studio } from '../../src/studio/index.js';
import { rolloutPage, runSummary } from '../../src/studio/interface/schemas.js';
import { saying } from './support.js';

let root: string;
let studio: Studio;

beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
  studio = await openStudio({ runs: root });
});
afterEach(async () => {
  await studio.close();
  rmSync(root, { recursive: true });
});

async function runs() {
  const headers = { authorization: `Bearer ${studio.key}` };
  const response = await fetch(new URL('api/runs', studio.url), { headers });
  return runSummary.array().parse(await response.json());
}

function write(name: string, content: string): void {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

async function record(folder: string, answers: readonly string[] = ['b']): Promise<void> {
  mkdirSync(path.join(root, folder), { recursive: true });
  const store = sqliteExperienceStore({ path: path.join(root, folder, 'experiences.db') });
  await store.put(answers.map((answer, run) => saying('a', answer, { eid: { run } })));
  await store.close();
}

it('shows the rollouts of a run that replaced another one with the same name', async () => {
  const answers = async (): Promise<readonly string[]> => {
    const headers = { authorization: `Bearer ${studio.key}` };
    const place = `api/runs/${encodeURIComponent('job/evaluations')}/rollouts`;
    const response = await fetch(new URL(place, studio.url), { headers });
    return rolloutPage.parse(await response.json()).rows.map(({ answer }) => answer);
  };
  await record('job/evaluations', ['old', 'old too']);
  expect(await answers()).toEqual(['old', 'old too']);
  rmSync(path.join(root, 'job'), { recursive: true });
  await record('job/evaluations', ['new']);
  expect(await answers()).toEqual(['new']);
  rmSync(path.join(root, 'job/evaluations/experiences.db'));
  expect(await answers()).toEqual([]);
});

it('has runs and their evaluations, without servers beside them and debug output', async () => {
  write('job/stage_meta.json', '{"latest_stage":0}');
  write('job/monitor/metrics.jsonl', '');
  write('job/serve/monitor/metrics.jsonl', '');
  write('staged/grpo/monitor/metrics.jsonl', '');
  write('staged/grpo/serve/monitor/metrics.jsonl', '');
  write('serve/monitor/metrics.jsonl', '');
  await record('job/evaluations');
  await record('debug_output');
  const ids = (await runs()).map(({ id }) => id);
  expect(ids.toSorted()).toEqual(['job', 'job/evaluations', 'serve', 'staged/grpo']);
});

it('has a run that failed before its first step: when, and why', async () => {
  const folder = path.join(root, 'job');
  mkdirSync(folder);
  const cause = new Error('connect ECONNREFUSED');
  await writeFailure(folder, new Error('The engine did not start.\nSee its log.', { cause }));
  write('job/stage_meta.json', '{"latest_stage":0}');
  const at = Math.floor(Date.now() / 1000) - 3600;
  utimesSync(folder, at, at);
  expect(await runs()).toMatchObject([
    {
      id: 'job',
      state: 'failed',
      failure: 'Error: The engine did not start. See its log. [cause]: Error: connect ECONNREFUSED',
      changedAt: at * 1000,
    },
  ]);
});

it('tells by its lock whether a run is live, as its id may belong to another process', async () => {
  const job = path.join(root, 'job');
  write('job/monitor/metrics.jsonl', '{"role":"trainer","step":1,"metrics":{},"timing":{}}\n');
  write('job/stage_meta.json', '{"latest_stage":0}');
  const unlock = await lockRun(job);
  write('job/evaluations/monitor/metrics.jsonl', '');
  expect(
    Object.fromEntries((await runs()).map(({ id, state, pid }) => [id, [state, pid]])),
  ).toEqual({
    job: ['running', process.pid],
    'job/evaluations': ['running', undefined],
  });
  rmSync(path.join(job, 'evaluations'), { recursive: true });
  await unlock();
  await writeFailure(job, new Error('It ended.'));
  // A killed run leaves its id; here it is the id of a process that is alive.
  write('job/run.pid', `${process.pid}\n`);
  expect(await runs()).toMatchObject([{ state: 'failed', failure: 'Error: It ended.' }]);
  expect((await reportRun(job)).pid).toBeUndefined();
  rmSync(path.join(job, 'run.lock'));
  mkdirSync(path.join(job, 'run.lock'));
  // The lock cannot be checked.
  expect(await runs()).toMatchObject([{ state: 'running', pid: process.pid }]);
});

it.each([
  [1, undefined, 'stopped'],
  [2, undefined, 'finished'],
  [2, 'finished', 'finished'],
  // Its last stage was made longer.
  [2, 'interrupted', 'stopped'],
])(
  'knows of a last stage, of %i complete ones, with end %s, that it is %s',
  async (latestStage, how, state) => {
    const stages = [{ stage_name: 'sft' }, { stage_name: 'grpo' }];
    write('job/settings.json', JSON.stringify({ jobDirectory: root, stages }));
    write('job/stage_meta.json', JSON.stringify({ latest_stage: latestStage }));
    if (how !== undefined) write('job/end.json', JSON.stringify({ how, at: 0 }));
    for (const stage of ['sft', 'grpo']) {
      write(`job/${stage}/monitor/metrics.jsonl`, '');
      write(`job/${stage}/log/trinity.log`, '');
      write(`job/${stage}/evaluations/monitor/metrics.jsonl`, '');
    }
    const states = (await runs()).map((run) => [run.id, run.state]);
    expect(Object.fromEntries(states)).toEqual({
      'job/sft': 'finished',
      'job/sft/evaluations': 'finished',
      'job/grpo': state,
      'job/grpo/evaluations': 'finished',
    });
  },
);

it.each([
  [{ how: 'finished' }, { state: 'finished' }],
  [{ how: 'interrupted' }, { state: 'stopped' }],
  [
    { how: 'failed', error: { message: 'No.' } },
    { state: 'failed', failure: 'No.' },
  ],
])('knows the end of a benchmark, %o', async (end, expected) => {
  const set = 'buffer.explorer_input.eval_tasksets[0]';
  const stage = { mode: 'bench', [`${set}.name`]: 'held_out', [`${set}.repeat_times`]: 1 };
  write('job/settings.json', JSON.stringify({ jobDirectory: root, stages: [stage] }));
  write('job/end.json', JSON.stringify({ ...end, at: 0 }));
  const metric = 'bench/held_out/reward/mean@1';
  const metrics = { [metric]: 0.25, [`${metric}/ci95_low`]: 0.125, [`${metric}/ci95_high`]: 0.5 };
  const line = { role: 'bench', step: 0, metrics, timing: {} };
  write('job/monitor/metrics.jsonl', `${JSON.stringify(line)}\n`);
  const evaluation = { metric, mean: 0.25, low: 0.125, high: 0.5 };
  expect(await runs()).toMatchObject([{ ...expected, evaluation }]);
});

it('has the latest evaluation with its interval', async () => {
  const set = 'buffer.explorer_input.eval_tasksets[0]';
  const stage = { mode: 'both', [`${set}.name`]: 'held_out', [`${set}.repeat_times`]: 2 };
  write('job/settings.json', JSON.stringify({ jobDirectory: root, stages: [stage] }));
  const metric = 'eval/held_out/reward/mean@2';
  const evaluated = (mean: number) => ({
    [metric]: mean,
    [`${metric}/ci95_low`]: mean - 0.125,
    [`${metric}/ci95_high`]: mean + 0.125,
  });
  const line = (step: number, metrics: object): string =>
    `${JSON.stringify({ role: 'explorer', step, metrics, timing: {} })}\n`;
  const lines = [line(1, evaluated(0.25)), line(2, evaluated(0.5)), line(3, { other: 1 })];
  write('job/monitor/metrics.jsonl', lines.join(''));
  expect(await runs()).toMatchObject([
    { evaluation: { metric, mean: 0.5, low: 0.375, high: 0.625 } },
  ]);
});

it('takes a folder for the run itself where nothing above it is a run', async () => {
  write('run/stage_meta.json', '{"latest_stage": 0}');
  const at = (name: string): string => path.join(root, name);
  expect(await jobFolder(at('run/grpo'))).toBe(at('run'));
  expect(await jobFolder(at('project/alone'))).toBe(at('project/alone'));
});
