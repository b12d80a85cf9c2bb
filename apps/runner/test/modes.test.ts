import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { readStory } from '@trinity-rft/inspect';
import { describeEnd, readEnd } from '@trinity-rft/launcher/files';
import { defineWorkflow } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { finishHere, runHere, type RunHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest, type MetricLine } from './support/run-record.js';
import { killedTrinity, runArgs, trinity } from './support/trinity.js';
import {
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const database = (name: string): string => path.join(job(name), 'buffer/experience_buffer.db');

const finish = async (name: string, ...over: readonly Tree[]): Promise<readonly MetricLine[]> =>
  (await finishHere(workspace, name, ...over)).lines;

const evaluations = (lines: readonly MetricLine[]): readonly number[] =>
  lines
    .filter(({ metrics }) => Object.keys(metrics).some((key) => key.startsWith('eval/')))
    .map(({ step }) => step);

describe('mode both', () => {
  it(
    'moves weights through checkpoints as it does through memory',
    { timeout: 240_000 },
    async () => {
      const sync = (method: string): Tree => ({
        synchronizer: { sync_method: method, sync_interval: 2, sync_offset: 1 },
      });
      const lines = await Promise.all([
        finish('memory', sync('memory')),
        finish('folder', sync('checkpoint')),
      ]);
      const byRole = lines.map((all) =>
        ['explorer', 'trainer'].map((role) => all.filter((line) => line.role === role)),
      );
      expect(byRole[1]).toEqual(byRole[0]);
      expect(weightsDigest(job('folder'))).toBe(weightsDigest(job('memory')));
    },
  );

  it(
    'evaluates before the first step, on the way, and at the end, each time with the weights of that moment',
    { timeout: 240_000 },
    async () => {
      const lines = await finish('evaluated', evalTasksets, {
        explorer: { eval_on_startup: true, eval_interval: 2 },
      });
      expect(evaluations(lines)).toEqual([0, 2, 4, 6, 7]);
    },
  );

  it(
    'evaluates the final weights at the end, even if they never reached the explorer',
    { timeout: 240_000 },
    async () => {
      const lines = await finish('late', evalTasksets, {
        explorer: { eval_on_startup: true },
        synchronizer: { sync_interval: 4 },
      });
      const [first, last] = [lines[0], lines.at(-1)].map((line) => line?.metrics);
      expect(last).toMatchObject({
        'eval/fresh/finished_task_count': 20,
        'eval/fresh/failed_task_count': 0,
      });
      expect(last).not.toEqual(first);
      // The last evaluation equals a benchmark of the last checkpoint.
      await finish('late', evalTasksets, {
        mode: 'bench',
        explorer: { bench_on_latest_checkpoint: true, eval_on_startup: false },
      });
      const bench = metricLines(job('late')).filter(({ role }) => role === 'bench');
      expect(bench.map(({ step }) => step)).toEqual([6]);
      const renamed = Object.fromEntries(
        Object.entries(bench[0]!.metrics).map(([key, value]) => [
          key.replace(/^bench/, 'eval'),
          value,
        ]),
      );
      expect(renamed).toEqual(last);
    },
  );

  it(
    'trains on every experience once and ends when the explorer goes first',
    { timeout: 240_000 },
    async () => {
      const lines = await finish('driven', {
        synchronizer: { sync_style: 'explorer_driven' },
        buffer: { total_steps: 12, train_batch_size: 8 },
      });
      const rows = usedRows(database('driven'));
      expect(rows.map(({ trainStep }) => trainStep)).toEqual(
        rows.map((_, i) => Math.floor(i / 8) + 1),
      );
      expect([rows.length, new Set(rows.map(({ uid }) => uid)).size]).toEqual([12 * 16, 12 * 16]);
      expect(lines.filter(({ role }) => role === 'explorer').map(({ step }) => step)).toEqual(
        Array.from({ length: 12 }, (_, i) => i + 1),
      );
      // New weights have reached the explorer.
      expect(
        lines.filter(({ role }) => role === 'explorer').at(-1)!.metrics['rollout/model_version'],
      ).toBeGreaterThan(2);
    },
  );

  it(
    'loses and doubles nothing when the explorer goes first and the run is killed again and again',
    { timeout: 240_000 },
    async () => {
      const config = workspace.config('killed.yaml', {
        name: 'killed',
        synchronizer: {
          sync_style: 'explorer_driven',
          sync_interval: 2,
          sync_method: 'checkpoint',
        },
        buffer: { total_steps: 12 },
        trainer: { save_interval: 3 },
      });
      for (const nth of [5, 6, 9]) {
        const { signal } = await killedTrinity(workspace.root, runArgs(config), {
          call: 'commit',
          match: '',
          nth,
          when: nth % 2 === 0 ? 'before' : 'after',
        });
        expect(signal).toBe('SIGKILL');
      }
      expect((await runHere(workspace, config)).error).toBeUndefined();
      const rows = usedRows(database('killed'));
      expect(rows.map(({ trainStep }) => trainStep)).toEqual(
        rows.map((_, i) => Math.floor(i / 16) + 1),
      );
      expect([rows.length, new Set(rows.map(({ uid }) => uid)).size]).toEqual([12 * 16, 12 * 16]);
      const steps = (role: string): readonly number[] =>
        metricLines(job('killed')).flatMap((line) => (line.role === role ? [line.step] : []));
      const twelve = Array.from({ length: 12 }, (_, i) => i + 1);
      expect([steps('explorer'), steps('trainer')]).toEqual([twelve, twelve]);
    },
  );

  it(
    'ends at trainer.total_steps, whatever is left of the tasks',
    { timeout: 240_000 },
    async () => {
      const lines = await finish('short', {
        trainer: { total_steps: 3 },
        buffer: { total_steps: 100 },
      });
      expect(lines.filter(({ role }) => role === 'trainer').map(({ step }) => step)).toEqual([
        1, 2, 3,
      ]);
    },
  );

  it.each<readonly [what: string, over: Tree, stopAt: string | undefined]>([
    ['the trainer ends', { trainer: { total_steps: 2 } }, undefined],
    ['the run is interrupted', {}, 'step 2'],
  ])(
    'does not wait for room in a full buffer when %s',
    { timeout: 240_000 },
    async (what, over, stopAt) => {
      const config = workspace.config(`${what}.yaml`, over, {
        name: what,
        buffer: {
          total_steps: 40,
          train_batch_size: 8,
          trainer_input: { experience_buffer: { capacity: 1 } },
        },
        synchronizer: { sync_style: 'explorer_driven', sync_interval: 20 },
      });
      const stop = new AbortController();
      const write = (text: string): void =>
        void (stopAt !== undefined && text.includes(stopAt) && stop.abort());
      const { error, summary } = await runHere(workspace, config, {
        signal: stop.signal,
        terminal: { write, isTTY: false, columns: () => 80 },
      });
      expect([error, summary?.interrupted]).toEqual([undefined, stopAt !== undefined]);
      expect(summary?.trainStep).toBeLessThan(8);
    },
  );

  it(
    'meets at fixed steps whatever the buffer may hold, also when a step makes more than one batch',
    { timeout: 240_000 },
    async () => {
      const over: Tree = {
        buffer: { total_steps: 8, train_batch_size: 8 },
        synchronizer: { sync_interval: 4 },
      };
      await finish('roomy', over);
      await finish('narrow', over, {
        buffer: { trainer_input: { experience_buffer: { capacity: 1 } } },
      });
      expect(usedRows(database('narrow'))).toEqual(usedRows(database('roomy')));
      expect(weightsDigest(job('narrow'))).toBe(weightsDigest(job('roomy')));
    },
  );

  it(
    'says that nothing was trained when every group is filtered out',
    { timeout: 240_000 },
    async () => {
      const flat = defineWorkflow({
        name: 'flat',
        run: async ({ model }) => (await model.chat([{ role: 'user', content: '1' }]), 0.5),
      });
      const config = workspace.config('flat.yaml', {
        name: 'flat',
        algorithm: { advantage_fn: 'grpo', advantage_fn_args: { std_threshold: 0.01 } },
        buffer: { total_steps: 3, explorer_input: { default_workflow_type: 'flat' } },
      });
      const { error } = await runHere(workspace, config, { workflows: [flat] });
      expect(error).toMatchObject({ name: 'BufferError', code: 'NOTHING_TRAINED' });
    },
  );

  it(
    'sets the environment of the workflows for the time of the run',
    { timeout: 240_000 },
    async () => {
      const seen = new Set<string | undefined>();
      const reader = defineWorkflow({
        name: 'reader',
        run: async ({ model }) => {
          seen.add(process.env['TRINITY_TEST_JUDGE']);
          await model.chat([{ role: 'user', content: '1' }]);
          return Math.random();
        },
      });
      const over: Tree = {
        explorer: { env_vars: { TRINITY_TEST_JUDGE: 'here' } },
        buffer: { total_steps: 1, explorer_input: { default_workflow_type: 'reader' } },
      };
      expect(
        (
          await runHere(workspace, workspace.config('env.yaml', over, { name: 'env' }), {
            workflows: [reader],
          })
        ).error,
      ).toBeUndefined();
      expect([[...seen], process.env['TRINITY_TEST_JUDGE']]).toEqual([['here'], undefined]);
    },
  );
});

describe('mode train', () => {
  it(
    'trains on the stored experiences of another run, and leaves that run as it was',
    { timeout: 240_000 },
    async () => {
      await finish('source');
      const before = readFileSync(database('source'));
      const over: Tree = {
        mode: 'train',
        buffer: {
          train_batch_size: 16,
          trainer_input: { experience_buffer: { storage_type: 'sql', path: database('source') } },
        },
      };
      const lines = await finish('again', over);
      expect(lines.map(({ role, step }) => [role, step])).toEqual(
        [1, 2, 3, 4, 5, 6].map((step) => ['trainer', step]),
      );
      // The same data in the same order from the same model must give the same weights as the run
      // that recorded the data.
      expect(weightsDigest(job('again'))).toBe(weightsDigest(job('source')));
      expect(readFileSync(database('source')).equals(before)).toBe(true);
      expect(
        (await runHere(workspace, workspace.config('source.yaml', { name: 'source' }))).summary,
      ).toMatchObject({
        doneBefore: true,
        trainStep: 6,
      });
    },
  );

  it('says at its place that stored experiences do not reach, and trains on all', async () => {
    await finish('few', { buffer: { total_steps: 1 } });
    const config = workspace.config('too-few.yaml', {
      name: 'too-few',
      mode: 'train',
      buffer: {
        total_steps: 3,
        train_batch_size: 8,
        trainer_input: { experience_buffer: { storage_type: 'sql', path: database('few') } },
      },
    });
    const { summary, output } = await runHere(workspace, config);
    expect(output).toMatch(
      /too-few\.yaml:\d+:\d+ buffer\.total_steps: got 3, but \S+ holds 16 experiences, which are trained on once: enough for 2 steps at most/,
    );
    expect(summary?.trainStep).toBe(2);
  });

  it('says that there is nothing to train on', { timeout: 240_000 }, async () => {
    const empty = path.join(workspace.root, 'empty.db');
    await sqliteExperienceStore({ path: empty, capacity: 1 }).close();
    const config = workspace.config('empty.yaml', {
      name: 'empty',
      mode: 'train',
      buffer: {
        train_batch_size: 16,
        trainer_input: { experience_buffer: { storage_type: 'sql', path: empty } },
      },
    });
    expect((await runHere(workspace, config)).error).toMatchObject({ code: 'NOTHING_TRAINED' });
  });
});

describe('mode bench', () => {
  it(
    'evaluates the model and every checkpoint of the run, and does not touch the run',
    { timeout: 240_000 },
    async () => {
      await finish('benched', { trainer: { save_interval: 2 } });
      const weights = weightsDigest(job('benched'));
      const lines = await finish('benched', evalTasksets, {
        mode: 'bench',
        explorer: { eval_on_startup: true },
      });
      const bench = lines.filter(({ role }) => role === 'bench');
      expect(bench.map(({ step }) => step)).toEqual([0, 2, 4, 6]);
      expect(bench.every(({ metrics }) => metrics['bench/fresh/finished_task_count'] === 20)).toBe(
        true,
      );
      expect(
        new Set(bench.map(({ metrics }) => metrics['bench/fresh/reward/mean@1'])).size,
      ).toBeGreaterThan(1);
      expect(weightsDigest(job('benched'))).toBe(weights);
      expect(
        (
          await runHere(
            workspace,
            workspace.config('benched.yaml', { name: 'benched', trainer: { save_interval: 2 } }),
          )
        ).summary?.doneBefore,
      ).toBe(true);
    },
  );
});

it.each<readonly [string, Tree]>([
  ['alone', { mode: 'bench' }],
  ['alone-staged', { stages: [{ stage_name: 'measure', mode: 'bench' }] }],
])('records a benchmark, %s, until a training run begins there', async (name, mode) => {
  const bench: Tree = { ...mode, explorer: { eval_on_startup: true } };
  const here = async () =>
    readStory(path.join(job(name), mode['stages'] === undefined ? '' : 'measure'));
  await finishHere(workspace, name, evalTasksets, bench);
  const story = await here();
  expect(story).toMatchObject({ state: 'finished', verdict: { kind: 'measured' } });
  expect(story.verdict.text).toMatch(/^On the evaluation tasks "fresh", .* \(95 % interval .* to /);
  expect(story.actions.map(({ name: action }) => action)).not.toContain('evaluate');
  await finishHere(workspace, name, evalTasksets, bench);
  const file = workspace.config(`${name}.yaml`, { name });
  const check = trinity(workspace.root, 'config', 'check', file, '--plugin-dir', 'plugins');
  expect(await check).toMatchObject({ exitCode: 0, stderr: '' });
  const { summary, output } = await runHere(workspace, file);
  expect(summary).toMatchObject({ doneBefore: false, trainStep: 6 });
  expect(output).not.toContain('changed from');
  expect(await readEnd(job(name))).toMatchObject({ how: 'finished', trainStep: 6 });
  expect((await readStory(job(name))).setup).toContainEqual({ name: 'algorithm', value: 'grpo' });
});

describe('stages', () => {
  it('have the verdict of a benchmark after training', async () => {
    const [warmup] = twoStages['stages'] as readonly Tree[];
    const stages = [warmup!, { stage_name: 'measure', mode: 'bench', ...evalTasksets }];
    await finish('measured', { stages });
    expect(await readStory(path.join(job('measured'), 'measure'))).toMatchObject({
      state: 'finished',
      verdict: { kind: 'measured' },
    });
  });

  it(
    'begin with the weights of the last stage before that trains, past benchmarks',
    { timeout: 240_000 },
    async () => {
      const measure = (stage_name: string): Tree => ({ stage_name, mode: 'bench' });
      const [warmup, grpo] = twoStages['stages'] as readonly Tree[];
      const stages = [measure('base'), warmup!, measure('between'), grpo!];
      const startup: Tree = { explorer: { eval_on_startup: true } };
      await finish('between', { stages }, evalTasksets, startup);
      await finish('unmeasured', { stages: [warmup!] });
      expect(weightsDigest(job('between/warmup'))).toBe(weightsDigest(job('unmeasured/warmup')));
      const [{ metrics: measured } = {}] = metricLines(job('between/between'));
      const [{ metrics: first } = {}] = metricLines(job('between/grpo'));
      expect(measured?.['bench/fresh/reward/mean@1']).toBe(first?.['eval/fresh/reward/mean@1']);
    },
  );

  it.each(['warmup', 'grpo'])(
    'keep their record, interrupted in %s, when they are evaluated',
    { timeout: 240_000 },
    async (interrupted) => {
      const name = `evaluated-${interrupted}`;
      const stages = (twoStages['stages'] as readonly Tree[]).map((stage) =>
        stage['stage_name'] === interrupted
          ? { ...stage, buffer: { ...(stage['buffer'] as Tree), total_steps: 4000 } }
          : stage,
      );
      const file = workspace.config(`${name}.yaml`, evalTasksets, { name, stages });
      const steps = (): number => {
        const folder = path.join(job(name), interrupted);
        return existsSync(path.join(folder, 'monitor/metrics.jsonl'))
          ? metricLines(folder).filter(({ role }) => role === 'trainer').length
          : 0;
      };
      const trainFor = async (more: number): Promise<RunHere> => {
        const interrupt = new AbortController();
        const before = steps();
        const look = setInterval(() => steps() >= before + more && interrupt.abort(), 20);
        const ended = await runHere(workspace, file, { signal: interrupt.signal });
        clearInterval(look);
        return ended;
      };
      expect((await trainFor(2)).summary).toMatchObject({ interrupted: true });
      const end = await readEnd(job(name));
      expect(end && describeEnd(end)).toMatch(
        new RegExp(`^was stopped by .* after train step \\d+ in stage ${interrupted}, on `),
      );
      const record = (): readonly string[] =>
        ['stage_meta', 'end', 'settings', 'configuration'].map((each) =>
          workspace.read(`runs/tests/${name}/${each}.json`),
        );
      const before = record();
      const copy = workspace.write(`${name}-copy.yaml`, readFileSync(file, 'utf8'));
      for (const evaluation of [
        undefined,
        { checkpoints: ['base'], onCheckpoint: () => undefined },
      ]) {
        const overrides = { mode: 'bench' };
        const { error } = await runHere(workspace, copy, { overrides, evaluation });
        // The second stage has no weights to start with before the first has ended.
        expect(error === undefined).toBe(interrupted === 'grpo');
        expect(record()).toEqual(before);
      }
      const again = await trainFor(1);
      expect([again.error, again.summary?.interrupted]).toEqual([undefined, true]);
    },
  );

  it(
    'hand their weights on: the second begins with the last checkpoint of the first',
    { timeout: 240_000 },
    async () => {
      await finish('chained', twoStages, evalTasksets, { explorer: { eval_on_startup: true } });
      const [first] = metricLines(job('chained/grpo'));
      // A benchmark of the warm-up's folder scores the same tasks.
      await finish('chained/warmup', evalTasksets, {
        mode: 'bench',
        explorer: { bench_on_latest_checkpoint: true, eval_on_startup: false },
      });
      const bench = metricLines(job('chained/warmup')).find(({ role }) => role === 'bench');
      expect(bench?.step).toBe(8);
      expect(first?.metrics['eval/fresh/reward/mean@1']).toBe(
        bench?.metrics['bench/fresh/reward/mean@1'],
      );
      expect(first?.metrics['eval/fresh/response_tokens/mean@1']).toBe(
        bench?.metrics['bench/fresh/response_tokens/mean@1'],
      );
      expect(
        metricLines(job('chained/warmup')).filter(({ role }) => role === 'trainer'),
      ).toHaveLength(8);
    },
  );

  it('have their data checked before the first one starts', { timeout: 240_000 }, async () => {
    workspace.write('torn.jsonl', '{"question": \n');
    const [warmup, grpo] = twoStages['stages'] as readonly Tree[];
    const torn = {
      ...grpo,
      buffer: { explorer_input: { tasksets: [{ name: 'torn', path: 'torn.jsonl' }] } },
    };
    const { error } = await runHere(
      workspace,
      workspace.config('torn.yaml', { name: 'torn', stages: [warmup, torn] }),
    );
    expect(error).toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/torn\.jsonl:1:14/) as unknown,
    });
    expect(metricLines(job('torn/warmup'))).toEqual([]);
  });
});

describe('rows that name their own workflow and reward function', () => {
  const format = {
    prompt_key: 'question',
    response_key: 'answer',
    workflow_key: 'agent',
    reward_fn_key: 'judge',
  };
  const rowsOf = (file: string): Tree => ({
    buffer: {
      total_steps: 1,
      explorer_input: {
        tasksets: [{ name: 'rows', path: file, format }],
        default_workflow_type: 'simple_workflow',
        default_reward_fn_type: 'digits',
      },
    },
  });
  const row = (more: Tree): string =>
    `${JSON.stringify({ question: '1+1=', answer: '2', ...more })}\n`;

  it('get them', { timeout: 240_000 }, async () => {
    workspace.write(
      'rows.jsonl',
      row({ agent: 'chatty' }) +
        row({ agent: 'chatty' }) +
        row({}) +
        row({ judge: 'exact_match_reward' }),
    );
    const [line] = await finish('rows', rowsOf('rows.jsonl'));
    expect(line?.metrics).toMatchObject({ 'rollout/runs/ok': 16, 'rollout/turns/mean': 3 });
  });

  it.each([
    [
      { agent: 'chaty' },
      /Row 1 of task set "rows" \(.*names\.jsonl\): There is no workflow named "chaty"\. Did you mean "?chatty/,
    ],
    [
      { judge: 'digit' },
      /Row 1 of task set "rows" \(.*names\.jsonl\): There is no reward function named "digit"\. Did you mean "?digits/,
    ],
  ])('are refused before the start when the names are not known: %j', async (more, message) => {
    workspace.write('names.jsonl', row({}) + row(more));
    const { error } = await runHere(
      workspace,
      workspace.config('names.yaml', rowsOf('names.jsonl'), { name: 'names' }),
    );
    expect(error).toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(message) as unknown,
    });
  });
});
