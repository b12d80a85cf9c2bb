/** Tests `trinity eval`, and the recorded answers of evaluations. */
import { copyFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readExperiences } from '@trinity-rft/buffer';
import type { Evaluation } from '@trinity-rft/inspect';
import { readConfiguration } from '@trinity-rft/launcher';
import { readSource } from '@trinity-rft/launcher/files';
import { beforeAll, expect, it } from 'vitest';
import { metricLines, weightsDigest } from './support/run-record.js';
import { mainHere } from './support/main-here.js';
import { finishHere, runHere } from './support/run-here.js';
import { trinity, type Ended } from './support/trinity.js';
import {
  createWorkspace,
  evalTasksets,
  twoStages,
  type Tree,
  type Workspace,
} from './support/workspace.js';

let workspace: Workspace;
let config: string;
let job: string;
beforeAll(async () => {
  workspace = await createWorkspace();
  job = path.join(workspace.root, 'runs/tests/evaluated');
  writeFileSync(
    path.join(workspace.root, 'own.eval.ts'),
    `export const Sum = ({ output, expected }: Record<string, string>) =>
      ({ score: output === expected, comment: 'expected ' + expected });`,
  );
  const { file } = await finishHere(workspace, 'evaluated', {
    buffer: {
      explorer_input: {
        eval_tasksets: [
          {
            name: 'fresh',
            path: 'eval.jsonl',
            format: { prompt_key: 'question', response_key: 'answer' },
            default_reward_fn_type: './own.eval.ts#Sum',
            repeat_times: 2,
          },
        ],
      },
    },
    explorer: { eval_on_startup: true },
    trainer: { save_interval: 2 },
  });
  config = file;
}, 120_000);

const command = (name: string, ...args: readonly string[]): Promise<Ended> =>
  trinity(workspace.root, name, config, '--plugin-dir', 'plugins', ...args);

function recorded(): readonly string[] {
  const reader = readExperiences(path.join(job, 'evaluations/experiences.db'));
  try {
    return [...reader.experiences()].map(({ eid, reward }) => `${eid.batch} ${reward}`);
  } finally {
    reader.close();
  }
}

it('records the answers of the evaluations of a run', () => {
  const batches = recorded().map((text) => text.split(' ')[0]);
  expect([...new Set(batches)]).toEqual(['0/fresh', '6/fresh']);
  // Two evaluations of twenty tasks, with two runs per task.
  expect(batches).toHaveLength(80);
});

it('compares checkpoints by the same tasks and seeds, and finds the best one', async () => {
  const weights = weightsDigest(job);
  const before = recorded();
  const file = path.join(workspace.root, 'new/folder/scores.json');
  const { exitCode, stdout, stderr } = await command(
    'eval',
    '--checkpoints',
    'base, best',
    '--json',
    file,
  );
  expect([exitCode, stderr]).toEqual([0, '']);
  const { sets, best } = JSON.parse(readFileSync(file, 'utf8')) as Evaluation;
  const [{ checkpoints, tasks, key } = { checkpoints: [], tasks: [], key: '' }] = sets;
  expect(checkpoints.map(({ step }) => step)).toEqual([0, 2, 4, 6]);
  expect([key, tasks.length]).toEqual(['reward', 20]);
  const evaluated = metricLines(job)
    .filter(({ role }) => role === 'explorer')
    .flatMap(({ metrics }) => metrics['eval/fresh/reward/mean@2'] ?? []);
  // The temperature is 1, so the means are equal only if the seeds are equal.
  expect([checkpoints[0]?.mean, checkpoints[3]?.mean]).toEqual(evaluated);
  const highest = checkpoints.slice(1).toSorted((a, b) => b.mean - a.mean || a.step - b.step)[0];
  expect(best).toBe(highest?.step);
  for (const { mean, difference } of checkpoints.slice(1))
    expect(difference?.mean).toBeCloseTo(mean - (checkpoints[0]?.mean ?? 0), 12);
  expect(stdout).toMatch(/fresh, 20 tasks\n\n {2}checkpoint +reward +95 % interval +against base/);
  expect(stdout).toMatch(/^ {2}(?:last )?best step \d /m);
  expect(weightsDigest(job)).toBe(weights);
  expect(new Set(recorded())).toEqual(new Set([...before, ...recorded()]));
  expect(recorded()).toHaveLength(160);
});

it('compares with an earlier file, writes reports, and ends with 4 below what is asked', async () => {
  const file = (name: string): string => path.join(workspace.root, 'ci', name);
  const [json, junit, markdown] = [file('base.json'), file('eval.xml'), file('summary.md')];
  await command('eval', '--checkpoints', 'base', '--json', json);
  const asked = ['--fail-on-regression', '--fail-below', 'reward=0'];
  const compared = await command(
    'eval',
    ...['--checkpoints', 'last', '--baseline', json, '--junit', junit, '--markdown', markdown],
    ...asked,
  );
  expect([compared.exitCode, compared.stderr]).toEqual([0, '']);
  expect(readFileSync(junit, 'utf8')).toContain('<testsuite name="fresh" tests="20"');
  expect(readFileSync(junit, 'utf8')).toMatch(/Reason:\nSum: expected \d+<\/failure>/);
  const [{ checkpoints } = { checkpoints: [] }] = (
    JSON.parse(readFileSync(json, 'utf8')) as Evaluation
  ).sets;
  expect(readFileSync(markdown, 'utf8')).toContain(
    `| fresh | reward | ${Number(checkpoints[0]?.mean.toFixed(3))} | `,
  );
  const below = await command('eval', '--checkpoints', 'last', '--fail-below', 'reward=1.5');
  expect(below.exitCode).toBe(4);
  expect(below.stdout).toMatch(/fresh: reward is [\d.]+, below 1\.5 \(--fail-below\)\.\n$/);
  for (const [option, value] of [
    ['--fail-below', 'reward'],
    ['--fail-on-regression', '-1'],
    ['--baseline', config],
  ] as const) {
    const refused = await command('eval', `${option}=${value}`);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining(option)]);
  }
  for (const option of ['--json', '--junit', '--markdown']) {
    const refused = await command('eval', option, path.join(json, 'file'));
    // Before anything is evaluated.
    expect([refused.exitCode, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain(`${option} is "${json}/file", which cannot be written`);
  }
  const folder = await command('eval', '--json', workspace.root);
  expect([folder.stdout, folder.stderr]).toEqual(['', expect.stringContaining('is a folder')]);
  writeFileSync(json, '{"sets":[{"set":"fresh","tasks":[{}]}]}');
  const damaged = await command('eval', '--baseline', json);
  expect([damaged.exitCode, damaged.stderr]).toEqual([2, expect.stringContaining('--baseline')]);
  for (const names of ['last', 'last,last', '6,last']) {
    const alone = await command('eval', '--checkpoints', names, '--fail-on-regression');
    expect([alone.exitCode, alone.stderr]).toEqual([2, expect.stringContaining('Name two')]);
  }
});

it('writes what was evaluated before it says that nothing is compared', async () => {
  cpSync(job, path.join(path.dirname(job), 'single'), { recursive: true });
  for (const step of [2, 4])
    rmSync(path.join(path.dirname(job), `single/global_step_${step}`), { recursive: true });
  const text = workspace.read('evaluated.yaml').replaceAll(/(name"?: "?)evaluated/g, '$1single');
  const markdown = path.join(workspace.root, 'ci/single.md');
  const { exitCode, stderr } = await trinity(
    ...[workspace.root, 'eval', workspace.write('single.yaml', text)],
    ...['--plugin-dir', 'plugins', '--checkpoints', 'best', '--fail-on-regression'],
    ...['--markdown', markdown],
  );
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Name two')]);
  expect(readFileSync(markdown, 'utf8')).toContain('fresh');
});

it('leaves the record of the file that the run was started from', async () => {
  const other = path.join(workspace.root, 'other.yaml');
  copyFileSync(config, other);
  const { exitCode, stderr } = await trinity(
    workspace.root,
    'eval',
    other,
    '--plugin-dir',
    'plugins',
    '--checkpoints',
    'last',
  );
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(await readSource(job)).toBe(config);
});

it('compares with a run, a checkpoint and a model folder, evaluated with the same settings', async () => {
  const file = path.join(workspace.root, 'ci/last.json');
  const own = await command('eval', '--checkpoints', '2', '--json', file);
  expect([own.exitCode, own.stderr]).toEqual([0, '']);
  const before = metricLines(job).length;
  const against = (baseline: string): Promise<Ended> =>
    command('eval', '--checkpoints', '2', '--baseline', baseline);
  const itself = await against(path.join(job, 'global_step_2'));
  expect([itself.exitCode, itself.stderr]).toEqual([0, '']);
  expect(itself.stdout).toMatch(
    /Against .*global_step_2\n\n {2}fresh: reward ([\d.]+) → \1, 0 \(.*\), 0 better \/ 0 worse \/ 20 same/,
  );
  expect(itself.stdout).toMatch(/^global_step_2: fresh [\d.]+\n/m);
  expect((await against(job)).stdout).toMatch(
    /Against .*evaluated\. Step \d, the best of \d evaluated/,
  );
  const [{ checkpoints } = { checkpoints: [] }] = (
    JSON.parse(readFileSync(file, 'utf8')) as Evaluation
  ).sets;
  const mean = Number(checkpoints[0]?.mean.toFixed(3));
  expect((await against('model')).stdout).toContain(` → ${mean}, `);
  // Each command has evaluated the run once, and the baselines not at all.
  expect(metricLines(job)).toHaveLength(before + 3);
  const broken = workspace.write('broken/config.json', '{}');
  const failed = await command(
    'eval',
    ...['--checkpoints', '2', '--baseline', path.dirname(broken)],
    ...['--json', path.join(workspace.root, 'ci/kept.json')],
  );
  expect([failed.exitCode, failed.stderr]).toEqual([2, expect.stringContaining('broken')]);
  expect(workspace.read('ci/kept.json')).toContain('"sets"');
  const missing = await against('plugins');
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining('is no model')]);
});

it('writes only a complete evaluation when it is interrupted, and takes no such file as a baseline', async () => {
  const file = path.join(workspace.root, 'ci/interrupted.json');
  writeFileSync(file, 'as it was');
  const workflow = workspace.write(
    'interrupting.ts',
    `import { defineWorkflow } from '@trinity-rft/workflow';
    export const interrupting = defineWorkflow({
      name: 'interrupting',
      run: async () => {
        if (--globalThis.runsLeft === 0) process.emit('SIGINT', 'SIGINT');
        return 0;
      },
    });`,
  );
  const interrupted = workspace.write(
    'interrupted.yaml',
    workspace
      .read('evaluated.yaml')
      .replaceAll('simple_workflow', 'interrupting')
      .replaceAll(/(?<=: )"(model|eval\.jsonl|tasks\.jsonl|runs)"/g, (_, name: string) =>
        JSON.stringify(path.join(workspace.root, name)),
      )
      .replaceAll('./own.eval.ts', path.join(workspace.root, 'own.eval.ts')),
  );
  const plugins = ['--plugin', workflow, '--plugin-dir', path.join(workspace.root, 'plugins')];
  const last = ['eval', interrupted, ...plugins, '--checkpoints', 'last'];
  const counter = Object.assign(globalThis, { runsLeft: 0 });
  expect((await mainHere(...last)).exitCode).toBe(0);
  // The baseline is evaluated after the run.
  const model = path.join(workspace.root, 'model');
  for (const [runsLeft, written, scores] of [
    [1, 'as it was', 0],
    [1 - counter.runsLeft, expect.stringContaining('"interrupted": false'), 1],
  ] as const) {
    counter.runsLeft = runsLeft;
    const before = metricLines(job).length;
    const { exitCode } = await mainHere(...last, '--baseline', model, '--json', file);
    expect([exitCode, readFileSync(file, 'utf8')]).toEqual([130, written]);
    expect(metricLines(job)).toHaveLength(before + scores);
  }
  writeFileSync(file, '{"interrupted": true, "sets": []}');
  const refused = await mainHere('eval', interrupted, ...plugins, '--baseline', file);
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining('an evaluation that was interrupted'),
  ]);
});

it('shows in the log what the first and the last weights answered', async () => {
  const { stdout } = await command('log', '--answers', '-n', '3');
  expect(stdout).toMatch(/^fresh: answers after steps 0 and 6, 20 tasks: \d+ better, \d+ worse/);
  expect(stdout.match(/^ {2}row \d+ /gm)).toHaveLength(3);
  expect(stdout).toMatch(/^ {4}step 6 {2}reward [\d.]+ {2}.*\n {6}Sum: expected \d+$/m);
});

it('refuses a checkpoint that is not there, and leaves the run as it was', async () => {
  const { exitCode, stderr } = await command('eval', '--checkpoints', '5');
  expect(exitCode).toBe(2);
  expect(stderr).toContain(
    'has no checkpoint "5". Expected base, last, best, or one of the train steps 2, 4, 6.',
  );
  const { stdout } = await command('log');
  expect(stdout).not.toContain('failed  ');
  expect(stdout).toContain('(after step 0)');
});

it('runs a configuration that was read before with the scorers that it names', async () => {
  const changed = { ...JSON.parse(readFileSync(config, 'utf8')), name: 'read before' } as object;
  const file = workspace.write('read-before.yaml', JSON.stringify(changed));
  const options = { cwd: workspace.root, pluginDirs: ['plugins'], env: {} };
  const { loaded } = await readConfiguration({ configPath: file, ...options });
  expect((await runHere(workspace, file, { configPath: loaded })).error).toBeUndefined();
});

it('is of the last stage that trains, with the sets of the benchmark after it', async () => {
  const place = path.join(workspace.root, 'runs/tests/benched');
  const stages = [
    { stage_name: 'grpo', buffer: { total_steps: 1 } },
    { stage_name: 'last', mode: 'bench', ...evalTasksets },
  ];
  const file = workspace.config('benched.yaml', { stages, name: 'benched' });
  const { summary } = await runHere(workspace, file);
  expect(summary).toMatchObject({ hasEvaluations: true });
  const here = (name: string, ...args: readonly string[]) =>
    trinity(workspace.root, name, file, '--plugin-dir', 'plugins', ...args);
  const story = JSON.parse((await here('report', '--json')).stdout) as { folder: string };
  expect(story.folder).toBe(path.join(place, 'grpo'));
  const evaluated = await here('eval');
  expect([evaluated.exitCode, evaluated.stderr]).toEqual([0, '']);
  expect(evaluated.stdout).toContain('last step 1');
});

it('is of a stage that was trained on stored answers', async () => {
  const [warmup] = twoStages['stages'] as readonly Tree[];
  const stages = [warmup!, { stage_name: 'test', mode: 'bench', ...evalTasksets }];
  const { file } = await finishHere(workspace, 'imitated', { stages });
  const { exitCode, stdout, stderr } = await trinity(
    workspace.root,
    ...['eval', file, '--plugin-dir', 'plugins', '--checkpoints', 'base,3,last'],
  );
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^fresh, 20 tasks[\s\S]*\n {2}base .*\n {2}step 3 .*\n {2}last step 8 /m);
});
