/** Tests curves over every axis, events of a run, and damaged or incomplete files. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { lockRun } from '@trinity-rft/launcher/files';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStudio, type Studio } from '../../src/studio/index.js';
import type { Curve, Marks, MetricList, RunSummary } from '../../src/studio/interface/index.js';

type Numbers = Readonly<Record<string, number | null>>;

const line = (role: string, step: number, metrics: Numbers, timing: Numbers = {}): string =>
  `${JSON.stringify({ role, step, metrics, timing })}\n`;

/** Three explore steps and an evaluation; two train steps of 100 tokens and 2 seconds. */
const lines = [
  line('explorer', 0, { 'eval/x/reward': 0.1, 'eval/model_version': 0 }, { 'time/eval': 5 }),
  line('explorer', 1, { reward: 1, 'rollout/model_version': 0 }, { 'time/wait_explore_step': 1 }),
  line('trainer', 1, { loss: 3 }, { 'time/step': 2, 'perf/total_num_tokens': 100 }),
  line('explorer', 2, { reward: 2, 'rollout/model_version': 1 }, { 'time/wait_explore_step': 1 }),
  line(
    'trainer',
    2,
    { loss: null, 'odd"loss': 7 },
    { 'time/step': 2, 'perf/total_num_tokens': 100, 'time/save_checkpoint': 0.1 },
  ),
  line('explorer', 3, { reward: 3, 'rollout/model_version': 2 }, { 'time/wait_explore_step': 1 }),
];

let root: string;
let folder: string;
let file: string;
let studio: Studio;

async function ask<T>(name: string, query: Readonly<Record<string, string>> = {}): Promise<T> {
  const address = new URL(`api/${name}?${new URLSearchParams(query).toString()}`, studio.url);
  const headers = { authorization: `Bearer ${studio.key}` };
  return (await (await fetch(address, { headers })).json()) as T;
}
const curve = (role: string, name: string, axis = 'step'): Promise<Curve> =>
  ask('runs/job%2Fgrpo/curve', { role, name, axis });

beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'trinity-studio-'));
  folder = path.join(root, 'job', 'grpo');
  file = path.join(folder, 'monitor', 'metrics.jsonl');
  mkdirSync(path.dirname(file), { recursive: true });
  mkdirSync(path.join(folder, 'log'));
  writeFileSync(file, lines.join(''));
  studio = await openStudio({ runs: root });
});
afterEach(async () => {
  await studio.close();
  rmSync(root, { recursive: true });
});

describe('curves', () => {
  it.each([
    ['explorer', 'reward', 'step', [1, 2, 3]],
    ['explorer', 'reward', 'time', [6, 7, 8]],
    ['explorer', 'reward', 'tokens', [0, 100, 200]],
    ['trainer', 'loss', 'time', [2, 4]],
    ['trainer', 'odd"loss', 'tokens', [200]],
  ])('of %s %s over %s', async (role, name, axis, x) => {
    expect(await curve(role, name, axis)).toMatchObject({ axis, x, points: x.length });
  });

  it('show where values are not finite, and since when', async () => {
    for (let step = 3; step <= 200; step++)
      appendFileSync(file, line('trainer', step, { loss: step <= 30 ? 0.5 : null }));
    const loss = await curve('trainer', 'loss');
    expect(loss).toMatchObject({ points: 200, notFiniteSince: 31 });
    expect(loss.values.slice(28, 32)).toEqual([0.5, 0.5, null, null]);
    const query = { role: 'trainer', name: 'loss', smooth: '0.5' };
    const { smoothed = [] } = await ask<Curve>('runs/job%2Fgrpo/curve', query);
    expect(smoothed.slice(1, 3)).toEqual([null, expect.any(Number)]);
    const few = await ask<Curve>('runs/job%2Fgrpo/curve', { ...query, points: '10' });
    expect(few.steps.length).toBeLessThanOrEqual(10);
    expect(few.values.at(-1)).toBeNull();
    const { metrics } = await ask<MetricList>('runs/job%2Fgrpo/metrics');
    expect(metrics.find(({ name }) => name === 'loss')).toMatchObject({
      points: 200,
      last: null,
      recent: { mean: null, low: null, high: null, count: 0 },
    });
    expect(await curve('explorer', 'reward')).not.toHaveProperty('notFiniteSince');
    appendFileSync(file, line('trainer', 201, { never: null }));
    expect(await curve('trainer', 'never')).toMatchObject({ values: [null], notFiniteSince: 201 });
  });

  it('have one point where several steps have the same weights', async () => {
    appendFileSync(file, line('explorer', 4, { reward: 5, 'rollout/model_version': 2 }));
    expect(await curve('explorer', 'reward', 'tokens')).toMatchObject({
      x: [0, 100, 200],
      steps: [1, 2, 3],
      values: [1, 2, 4],
      points: 3,
    });
    expect(await curve('explorer', 'reward')).toMatchObject({ values: [1, 2, 3, 5] });
    appendFileSync(file, line('explorer', 5, { reward: null, 'rollout/model_version': 2 }));
    expect(await curve('explorer', 'reward', 'tokens')).toMatchObject({
      values: [1, 2, 4],
      notFiniteSince: 5,
    });
  });

  it('keep the extremes of each bucket beside its gap, and the last point', async () => {
    const values = [9, 5, null, 1, 5, 5, 8, 5, 2, 5, 7];
    for (const [i, wave] of values.entries())
      appendFileSync(file, line('explorer', i + 4, { wave }));
    const query = { role: 'explorer', name: 'wave' };
    const few = await ask<Curve>('runs/job%2Fgrpo/curve', { ...query, points: '7' });
    expect(few).toMatchObject({ values: [9, null, 1, 8, 2, 7], points: 11 });
    const least = await ask<Curve>('runs/job%2Fgrpo/curve', { ...query, points: '1' });
    expect(least.values).toEqual([9, null, 1, 7]);
  });

  it('of evaluations come with the intervals of their values', async () => {
    const name = 'eval/x/reward/mean@1';
    const ends = { [`${name}/ci95_low`]: 0.25, [`${name}/ci95_high`]: 0.75 };
    appendFileSync(file, line('explorer', 4, { [name]: 0.5 }));
    appendFileSync(file, line('explorer', 5, { [name]: 0.5, ...ends }));
    expect(await curve('explorer', name)).toMatchObject({
      values: [0.5, 0.5],
      low: [null, 0.25],
      high: [null, 0.75],
    });
    expect(await curve('explorer', 'reward')).not.toHaveProperty('low');
  });

  it('begin anew where a resumed run has cut its file', async () => {
    expect(await curve('explorer', 'reward')).toMatchObject({ values: [1, 2, 3] });
    writeFileSync(file, lines.slice(0, 3).join(''));
    appendFileSync(file, line('explorer', 2, { reward: 9 }));
    expect(await curve('explorer', 'reward')).toMatchObject({ x: [1, 2], values: [1, 9] });
  });

  it('of lines that other programs wrote, torn lines and lines longer than a block', async () => {
    const long = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`metric/${i}`, i]));
    const other = '{ "step": 5, "role": "explorer", "metrics": { "reward" : 4, "more": 5 } }\n';
    appendFileSync(
      file,
      `{"role":"expl\n[]\n${line('explorer', 4, { ...long, reward: 8 })}${other}`,
    );
    expect(await curve('explorer', 'reward')).toMatchObject({ values: [1, 2, 3, 8] });
    expect(await curve('explorer', 'more')).toMatchObject({ x: [5], values: [5] });
    const { metrics } = await ask<MetricList>('runs/job%2Fgrpo/metrics');
    expect(metrics.find(({ name }) => name === 'metric/69999')).toMatchObject({ last: 69_999 });
  });

  it('of repeated evaluations have the newest value of each step, in the order of steps', async () => {
    const name = 'bench/x/reward/mean@1';
    for (const [step, value] of [
      [0, 0.25],
      [2, 0.5],
      [2, 0.75],
      [0, 0.375],
    ] as const)
      appendFileSync(file, line('bench', step, { [name]: value }));
    const drawn = { values: [0.375, 0.75], points: 2 };
    expect(await curve('bench', name)).toMatchObject({ ...drawn, x: [0, 2] });
    const smoothed = await ask<Curve>('runs/job%2Fgrpo/curve', {
      role: 'bench',
      name,
      smooth: '0.5',
    });
    expect(smoothed.smoothed).toEqual([0.375, (0.1875 / 2 + 0.375) / 0.75]);
  });

  it('are smoothed over all points, also where only some are asked for', async () => {
    const query = { role: 'explorer', name: 'reward', smooth: '0.5', from: '2' };
    const { values, smoothed } = await ask<Curve>('runs/job%2Fgrpo/curve', query);
    expect(values).toEqual([2, 3]);
    expect(smoothed).toEqual([(0.25 + 1) / 0.75, (0.125 + 0.5 + 1.5) / 0.875]);
  });

  it('come with means of their latest values, and with intervals where these are enough', async () => {
    const recentOf = async () => {
      const { metrics } = await ask<MetricList>('runs/job%2Fgrpo/metrics');
      return metrics.find(({ name }) => name === 'reward')?.recent;
    };
    expect(await recentOf()).toEqual({ mean: 2, low: null, high: null, count: 3 });
    for (const step of [4, 5]) appendFileSync(file, line('explorer', step, { reward: step }));
    appendFileSync(file, line('explorer', 6, { reward: null }));
    const recent = await recentOf();
    expect(recent).toMatchObject({ mean: 3, count: 5 });
    // 3 -+ t(0.975, 4) sqrt(2.5 / 5)
    expect(recent?.low).toBeCloseTo(3 - 2.776 * Math.sqrt(0.5), 2);
  });
});

describe('what happened', () => {
  it('is marked on the axis of the role', async () => {
    mkdirSync(path.join(folder, 'global_step_2'));
    writeFileSync(path.join(folder, 'failure.txt'), 'EngineError: <b>gone</b>\n  at x.ts\n');
    for (const [name, day, step] of [
      ['trinity.log.1', 21, 1],
      ['trinity.log', 22, 2],
    ] as const)
      writeFileSync(
        path.join(folder, 'log', name),
        `INFO  2026-11-${day}T18:30:43.918Z Resumes at explore step ${step} and train step 1.\n`,
      );
    const marks = (role: string, axis: string): Promise<Marks> =>
      ask('runs/job%2Fgrpo/marks', { role, axis });
    expect((await marks('explorer', 'step')).marks).toEqual([
      { kind: 'checkpoint', x: 2, text: '1' },
      { kind: 'checkpoint', x: 3, text: '2' },
      { kind: 'weights', x: 2, text: '1' },
      { kind: 'weights', x: 3, text: '2' },
      { kind: 'evaluation', x: 0, text: '0' },
      { kind: 'restart', x: 1, text: '2026-11-21T18:30:43.918Z' },
      { kind: 'restart', x: 2, text: '2026-11-22T18:30:43.918Z' },
      { kind: 'failure', x: 3, text: 'EngineError: <b>gone</b>' },
    ]);
    const { marks: ofTrainer, counts } = await marks('trainer', 'time');
    expect(ofTrainer.filter(({ kind }) => kind === 'checkpoint')).toMatchObject([
      { x: 2, text: '1' },
      { x: 4, text: '2' },
    ]);
    // Checkpoints are evaluated in any order, and again.
    for (const step of [2, 0, 1, 0, 2])
      appendFileSync(file, line('bench', step, { 'bench/x': step }));
    const { marks: ofBench } = await marks('bench', 'step');
    expect(ofBench.filter(({ kind }) => kind !== 'failure')).toEqual([
      { kind: 'checkpoint', x: 1, text: '1' },
      { kind: 'checkpoint', x: 2, text: '2' },
      { kind: 'weights', x: 1, text: '1' },
      { kind: 'weights', x: 2, text: '2' },
      { kind: 'evaluation', x: 0, text: '0' },
      { kind: 'restart', x: 1, text: '2026-11-21T18:30:43.918Z' },
      { kind: 'restart', x: 1, text: '2026-11-22T18:30:43.918Z' },
    ]);
    expect((await curve('bench', 'bench/x', 'tokens')).x).toEqual([0, 100, 200]);
    expect(counts).toEqual({ checkpoint: 2, weights: 2, evaluation: 1, restart: 2, failure: 1 });
  });
});

describe('how far a run is', () => {
  it('is the score of one that only evaluates', async () => {
    const scores = { 'bench/fresh/reward/mean@1': 0.75, 'bench/fresh/reward/std@1': 0.1 };
    writeFileSync(file, line('bench', 0, scores) + line('bench', 40, scores));
    const [run] = await ask<RunSummary[]>('runs');
    expect(run).toMatchObject({ reward: 0.75, sparkline: [0.75, 0.75] });
  });

  it('follows from its settings, which are without the folder of the project', async () => {
    const stages = [
      { stage_name: 'warmup', mode: 'train', 'buffer.total_steps': 400 },
      { stage_name: 'grpo', mode: 'both', 'buffer.total_steps': 12, path: `${root}/job/x` },
    ];
    const settings = { jobDirectory: path.join(root, 'job'), stages };
    writeFileSync(path.join(root, 'job', 'settings.json'), JSON.stringify(settings));
    appendFileSync(file, line('explorer', 4, {}, { 'time/eval': 5 }));
    const [run] = await ask<RunSummary[]>('runs');
    expect(run).toMatchObject({ steps: { done: 3, total: 12 }, secondsPerStep: 1 });
    expect(await ask('runs/job%2Fgrpo/settings')).toMatchObject({ mode: 'both', path: 'x' });
  });

  it('is the explore step of a run that explores towards its first train step', async () => {
    writeFileSync(file, lines.filter((each) => !each.includes('trainer')).join(''));
    const unlock = await lockRun(path.join(root, 'job'));
    try {
      await expect
        .poll(() => summaryOf({ mode: 'both', 'buffer.total_steps': 4 }))
        .toMatchObject({ state: 'running', steps: { done: 3, total: 4 } });
    } finally {
      await unlock();
    }
  });

  it('is known for a run that is named evaluations', async () => {
    const settings = { stages: [{ mode: 'both', 'buffer.total_steps': 4 }] };
    const job = path.join(root, 'evaluations');
    mkdirSync(path.join(job, 'monitor'), { recursive: true });
    writeFileSync(path.join(job, 'monitor', 'metrics.jsonl'), line('trainer', 2, {}));
    writeFileSync(path.join(job, 'settings.json'), JSON.stringify(settings));
    const found = async () =>
      (await ask<RunSummary[]>('runs')).find(({ id }) => id === 'evaluations')?.steps;
    await expect.poll(found).toMatchObject({ total: 4 });
  });

  it('is 0 for a run that explored but trained nothing, and unknown for evaluations', async () => {
    const evaluations = path.join(root, 'job', 'evaluations', 'monitor');
    mkdirSync(evaluations, { recursive: true });
    writeFileSync(path.join(evaluations, 'metrics.jsonl'), line('bench', 0, { 'bench/x': 1 }));
    writeFileSync(file, lines.filter((each) => !each.includes('trainer')).join(''));
    await summaryOf({ mode: 'both', 'buffer.total_steps': 4 });
    const stepsOf = async (name: string) =>
      (await ask<RunSummary[]>('runs')).find(({ id }) => id === name)?.steps;
    await expect.poll(() => stepsOf('job/grpo')).toEqual({ done: 0, total: 4 });
    expect(await stepsOf('job/evaluations')).toBeUndefined();
  });

  it('is unknown for a benchmark, which takes no steps', async () => {
    const run = await summaryOf({ mode: 'bench', 'buffer.total_steps': 4 });
    expect([run?.steps, run?.noTotal]).toEqual([undefined, undefined]);
  });

  const epochs = { mode: 'both', 'buffer.total_epochs': 3, 'buffer.batch_size': 2 };
  const set = 'buffer.explorer_input.tasksets';
  const sums = { [`${set}[0].name`]: 'sums', [`${set}[0].path`]: 'sums.jsonl' };
  it.each([
    ['rows of JSONL files', { ...epochs, ...sums }, { steps: { done: 3, total: 4 } }],
    [
      'tasks that are made',
      { ...epochs, ...sums, [`${set}[1].name`]: 'made', [`${set}[1].task_count`]: 4 },
      { steps: { total: 10 } },
    ],
    [
      'passes of the trainer over its file',
      { mode: 'train', 'buffer.total_epochs': 4 },
      { steps: { done: 2, total: 16 } },
    ],
  ])('is told without total_steps from %s', async (_, stage, expected) => {
    expect(await summaryOf(stage)).toMatchObject(expected);
  });

  it.each([
    ['a file elsewhere', { ...epochs, ...sums, [`${set}[0].path`]: 'no.jsonl' }, 'dataElsewhere'],
    ['a data set of another form', { ...epochs, [`${set}[0].name`]: 'hub' }, 'dataElsewhere'],
    ['a part of a file', { ...epochs, ...sums, [`${set}[0].split`]: 'train[:2]' }, 'dataElsewhere'],
    [
      'what a pipeline selects',
      { ...epochs, ...sums, 'data_processor.task_pipeline.top_k': 2 },
      'dataElsewhere',
    ],
    [
      'tasks that are drawn until they teach',
      { ...epochs, ...sums, 'explorer.dynamic_sampling.enable': true },
      'dynamicSampling',
    ],
    ['a product that goes on', { mode: 'serve' }, 'serves'],
    ['nothing', undefined, 'noSettings'],
  ])('is not told of %s, but why', async (_, stage, expected) => {
    const run = await summaryOf(stage);
    expect(run).toMatchObject({ noTotal: expected });
    expect(run?.steps).toBeUndefined();
  });

  async function summaryOf(
    stage: Readonly<Record<string, unknown>> | undefined,
  ): Promise<RunSummary | undefined> {
    const job = path.join(root, 'job');
    writeFileSync(path.join(job, 'sums.jsonl'), '{"q":1}\n  \r\n{"q":2}\n{"q":3}');
    const settings = { jobDirectory: job, stages: stage === undefined ? [] : [stage] };
    writeFileSync(path.join(job, 'settings.json'), JSON.stringify(settings));
    if (stage?.['mode'] === 'train')
      appendFileSync(file, line('trainer', 2, { 'sample/epoch': 0.5 }));
    const [run] = await ask<RunSummary[]>('runs');
    return run;
  }
});
