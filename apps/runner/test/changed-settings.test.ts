/** Tests resuming a run with another configuration. */
import { hash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { serialize } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { readEnd } from '@trinity-rft/launcher/files';
import { planDevices, readConfiguration, type RunOptions } from '@trinity-rft/launcher';
import { defineWorkflow } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere, type RunHere } from './support/run-here.js';
import { metricLines, weightsDigest } from './support/run-record.js';
import { trinity, type Ended } from './support/trinity.js';
import { createWorkspace, evalTasksets, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  workspace.write('other.jsonl', workspace.read('tasks.jsonl'));
});

const start = (name: string, ...over: readonly Tree[]): Promise<RunHere> =>
  runHere(workspace, workspace.config(`${name}.yaml`, ...over, { name }));
const recordOf = (name: string): string =>
  path.join(workspace.root, 'runs/tests', name, 'settings.json');
const saidOf = ({ output }: RunHere): readonly string[] =>
  [...output.matchAll(/^warning: (.* changed from .*)$/gm)].map(([, line]) => line ?? '');

const steps = (total_steps: number): Tree => ({ buffer: { total_steps } });
const tasksets = (over: Tree): Tree => ({
  buffer: {
    explorer_input: {
      tasksets: [
        {
          name: 'sums',
          path: 'tasks.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
          data_selector: { selector_type: 'shuffle' },
          ...over,
        },
      ],
    },
  },
});

describe('a resumed run', () => {
  it('says what has changed, once, and works with it from there on', async () => {
    const faster: Tree = {
      algorithm: { optimizer: { lr: 0.05 }, advantage_fn_args: { epsilon: 0.001 } },
      model: { max_response_tokens: 3 },
      buffer: { total_steps: 3 },
    };
    expect((await start('longer', steps(2))).error).toBeUndefined();
    const resumed = await start('longer', faster);
    expect(resumed.error).toBeUndefined();
    const whenExplored =
      'takes effect in part: from the next explore step on; experiences that are stored stay as they are.';
    expect(saidOf(resumed)).toEqual([
      `algorithm.advantage_fn_args.epsilon: changed from 0.000001 to 0.001: ${whenExplored}`,
      'algorithm.optimizer.lr: changed from 0.01 to 0.05: takes effect from here on; what has been done stays as it is.',
      `model.max_model_len: changed from 44 to 43: ${whenExplored}`,
      `model.max_response_tokens: changed from 4 to 3: ${whenExplored}`,
      'buffer.total_steps: changed from 2 to 3: takes effect from here on; a learning rate that follows the length of the run follows the new one.',
    ]);
    const rates = metricLines(path.join(workspace.root, 'runs/tests/longer'))
      .filter(({ role }) => role === 'trainer')
      .map(({ metrics }) => metrics['actor/lr']);
    expect(rates).toEqual([0.01, 0.01, 0.05]);
    expect(saidOf(await start('longer', faster))).toEqual([]);
  });

  it('keeps the device that model.device: auto chose', async () => {
    const auto: Tree = { model: { device: 'auto' } };
    const planned = async (): Promise<readonly string[]> => {
      const configPath = path.join(workspace.root, 'device.yaml');
      const read = { configPath, cwd: workspace.root, pluginDirs: ['plugins'] };
      const { loaded, engines, environments } = await readConfiguration(read);
      await environments.close();
      return planDevices(loaded.config, engines);
    };
    // With a driver file that does not exist, no GPU is found on any machine.
    const driver = process.env['VK_ICD_FILENAMES'];
    process.env['VK_ICD_FILENAMES'] = '/nowhere.json';
    try {
      const begun = await start('device', auto, steps(1));
      expect(begun.error).toBeUndefined();
      expect(begun.output).toMatch(/^model\.device: auto uses cpu\. .*(no GPU|not installed)/m);
      expect(JSON.parse(readFileSync(recordOf('device'), 'utf8'))).toMatchObject({
        stages: [{ 'model.device': 'cpu' }],
      });
      const resumed = await start('device', auto, steps(2));
      expect(resumed.error).toBeUndefined();
      expect(resumed.output).toContain('model.device: auto keeps cpu, with which the run began.\n');
      expect(saidOf(resumed)).toEqual([expect.stringContaining('buffer.total_steps')]);
      expect(await planned()).toEqual([
        'model.device: auto: the run keeps cpu, with which it began.',
      ]);
      workspace.config('device.yaml', auto, { name: 'another' });
      expect(await planned()).toEqual([
        expect.stringMatching(/^model\.device: auto: the run will use cpu\. .*(no GPU|not inst)/),
      ]);
    } finally {
      if (driver === undefined) delete process.env['VK_ICD_FILENAMES'];
      else process.env['VK_ICD_FILENAMES'] = driver;
    }
  });

  it('keeps the evaluation with which it ended when it becomes longer', async () => {
    const evaluated = (): readonly unknown[] =>
      metricLines(path.join(workspace.root, 'runs/tests/evaluated')).flatMap(({ step, metrics }) =>
        metrics['eval/model_version'] === undefined ? [] : [step],
      );
    const every: Tree = { explorer: { eval_interval: 3 } };
    expect((await start('evaluated', evalTasksets, every, steps(2))).error).toBeUndefined();
    expect(evaluated()).toEqual([3]);
    expect((await start('evaluated', evalTasksets, every, steps(4))).error).toBeUndefined();
    expect(evaluated()).toEqual([3, 3, 5]);
  });

  it('says that a change comes too late for a stage that is complete', async () => {
    const stages = (lr: number): Tree => ({
      stages: [
        { stage_name: 'one', algorithm: { optimizer: { lr } }, ...steps(1) },
        { stage_name: 'two', ...steps(1) },
      ],
    });
    expect((await start('staged', stages(0.01))).error).toBeUndefined();
    expect(saidOf(await start('staged', stages(0.02)))).toEqual([
      'one: algorithm.optimizer.lr: changed from 0.01 to 0.02: takes no effect: the stage is complete.',
    ]);
  });

  it(
    'knows what has changed in stages before a benchmark at the end, and makes the last longer',
    { timeout: 240_000 },
    async () => {
      const staged = (
        lr: number,
        total: number,
        name = 'two',
        bench: Tree = {},
      ): readonly Tree[] => [
        evalTasksets,
        {
          stages: [
            { stage_name: 'one', algorithm: { optimizer: { lr } }, ...steps(1) },
            { stage_name: name, ...steps(total) },
            { stage_name: 'measure', mode: 'bench', ...bench },
          ],
        },
      ];
      const trained = (): number =>
        metricLines(path.join(workspace.root, 'runs/tests/measured/two')).filter(
          ({ role }) => role === 'trainer',
        ).length;
      expect((await start('measured', ...staged(0.01, 1))).error).toBeUndefined();
      expect((await start('measured', ...staged(0.01, 1, 'other'))).error?.message).toContain(
        'stage_name: changed from "two" to "other": the run in',
      );
      const longer = await start('measured', ...staged(0.02, 3));
      expect(saidOf(longer)).toEqual([
        'one: algorithm.optimizer.lr: changed from 0.01 to 0.02: takes no effect: the stage is complete.',
        'two: buffer.total_steps: changed from 1 to 3: takes effect from here on; a learning rate that follows the length of the run follows the new one.',
      ]);
      expect([longer.error, trained()]).toEqual([undefined, 3]);
      const { stages } = JSON.parse(readFileSync(recordOf('measured'), 'utf8')) as {
        stages: readonly Tree[];
      };
      expect(stages.map((stage) => stage['stage_name'])).toEqual(['one', 'two', 'measure']);
      const interrupted = AbortSignal.abort();
      await runHere(workspace, path.join(workspace.root, 'measured.yaml'), { signal: interrupted });
      expect((await readEnd(path.dirname(recordOf('measured'))))?.how).toBe('interrupted');
      expect((await start('measured', ...staged(0.01, 3))).error).toBeUndefined();
      const place = path.dirname(recordOf('measured'));
      expect((await readEnd(place))?.how).toBe('finished');
      // A benchmark that is interrupted or fails leaves the end of the training run as it is.
      const end = await readEnd(place);
      const abort = new AbortController();
      const workers = new Set<Worker>();
      const broken = defineWorkflow({
        name: 'broken',
        run: async ({ model, task }) => {
          const isFirst = !abort.signal.aborted;
          abort.abort();
          if (!isFirst) for (const worker of workers) void worker.terminate();
          await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
          return 0;
        },
      });
      const bench: Tree = {
        buffer: { explorer_input: { default_eval_workflow_type: broken.name } },
      };
      const file = workspace.config('measured.yaml', ...staged(0.01, 3, 'two', bench), {
        name: 'measured',
      });
      const { signal } = abort;
      const stopped = await runHere(workspace, file, { workflows: [broken], signal });
      expect(stopped.summary).toMatchObject({ interrupted: true, stageName: 'measure' });
      expect(stopped.summary?.trainStep).toBeUndefined();
      const onWorker = (worker: Worker): void => void workers.add(worker);
      process.on('worker', onWorker);
      const failed = await runHere(workspace, file, { workflows: [broken] });
      process.off('worker', onWorker);
      expect(failed.error).toMatchObject({ code: 'ENGINE_WORKER_DIED' });
      expect(await readEnd(place)).toEqual(end);
      // The record forgets a stage that is no longer there.
      const cut = (total: number, ...more: readonly Tree[]): Tree => ({
        ...evalTasksets,
        stages: [
          { stage_name: 'one', ...steps(1) },
          { stage_name: 'two', ...steps(total) },
          ...more,
        ],
      });
      expect((await start('measured', cut(4))).error).toBeUndefined();
      // A benchmark before a stage that has not trained yet is a part of the training run.
      const between = { stage_name: 'between', mode: 'bench' };
      const more = cut(4, between, { stage_name: 'more', ...steps(1) });
      expect((await start('measured', more)).error).toBeUndefined();
      expect(await readEnd(place)).toMatchObject({ how: 'finished', stageName: 'more' });
    },
  );

  it('is the same one when its folder alone has been moved', async () => {
    expect((await start('carried', steps(1))).error).toBeUndefined();
    const [from, to] = ['runs', 'elsewhere'].map((root) => path.join(workspace.root, root));
    cpSync(path.join(from ?? '', 'tests/carried'), path.join(to ?? '', 'tests/carried'), {
      recursive: true,
    });
    const resumed = await start('carried', steps(1), { checkpoint_root_dir: 'elsewhere' });
    expect([resumed.error, saidOf(resumed)]).toEqual([undefined, []]);
  });

  it('is the same one when its project has been moved', async () => {
    expect((await start('moved', steps(1))).error).toBeUndefined();
    const root = `${workspace.root}-moved`;
    cpSync(workspace.root, root, { recursive: true });
    const resumed = await runHere({ ...workspace, root }, path.join(root, 'moved.yaml'));
    rmSync(root, { recursive: true });
    expect([resumed.error, saidOf(resumed)]).toEqual([undefined, []]);
  });
});

const changes: readonly (readonly [key: string, change: string, over: Tree])[] = [
  ['seed', 'from 7 to 8', { seed: 8 }],
  ['algorithm.algorithm_type', 'from "grpo" to "rloo"', { algorithm: { algorithm_type: 'rloo' } }],
  ['algorithm.repeat_times', 'from 4 to 2', { algorithm: { repeat_times: 2 } }],
  ['buffer.batch_size', 'from 4 to 8', { buffer: { batch_size: 8 } }],
  ['buffer.train_batch_size', 'from 16 to 8', { buffer: { train_batch_size: 8 } }],
  ['synchronizer.sync_interval', 'from 1 to 2', { synchronizer: { sync_interval: 2 } }],
  ['model.lora_configs[0]', 'from nothing to', { model: { lora_configs: [{ lora_rank: 4 }] } }],
  ['buffer.explorer_input.tasksets[0].path', 'from "', tasksets({ path: 'other.jsonl' })],
  [
    'buffer.explorer_input.tasksets[0].data_selector.selector_type',
    'from "shuffle" to "sequential"',
    tasksets({ data_selector: { selector_type: 'sequential' } }),
  ],
];

describe('a change that would make it neither the old run nor the new one', () => {
  beforeAll(() => start('begun', steps(1)));

  it.each(changes)('is refused at its place: %s', async (key, change, over) => {
    const before = readFileSync(recordOf('begun'), 'utf8');
    const { error } = await start('begun', steps(2), over);
    expect(error).toMatchObject({ name: 'ConfigError' });
    const line = error?.message.split('\n').find((text) => text.includes(` ${key}: `));
    expect(error?.message).toMatch(/begun\.yaml(?::\d+:\d+| has)/);
    expect(line ?? error?.message).toContain(`${key}: changed ${change}`);
    const back =
      key === 'buffer.train_batch_size'
        ? `Set ${key}: 16 to continue as it began`
        : 'Change it back';
    expect(line ?? error?.message).toContain(`${back}, or give the new run another name.`);
    expect(readFileSync(recordOf('begun'), 'utf8')).toBe(before);
  });

  it('is named once if the train batch follows the explore step', async () => {
    const { error } = await start('begun', steps(2), { buffer: { batch_size: 8 } });
    expect(error?.message.match(/changed from/g)).toHaveLength(1);
  });

  it('is seen before the run is started, as are other changes', async () => {
    const check = (...over: readonly Tree[]): Promise<Ended> => {
      const file = workspace.config('checked.yaml', ...over, { name: 'begun' });
      return trinity(workspace.root, 'config', 'check', file, '--plugin-dir', 'plugins');
    };
    const longer = await check(steps(2));
    expect([longer.exitCode, longer.stdout]).toEqual([
      0,
      expect.stringContaining('buffer.total_steps: changed from 1 to 2'),
    ]);
    const mixed = await check(steps(1), { seed: 8 });
    expect([mixed.exitCode, mixed.stderr]).toEqual([
      2,
      expect.stringMatching(/checked\.yaml:\d+:\d+ seed: changed from 7 to 8/),
    ]);
    const text = workspace.read('tasks.jsonl');
    workspace.write('tasks.jsonl', rotated(text));
    const reread = await check(steps(1));
    workspace.write('tasks.jsonl', text);
    expect([reread.exitCode, reread.stderr]).toEqual([
      2,
      expect.stringMatching(/the contents of .*tasks\.jsonl have changed/),
    ]);
  });
});

const rotated = (text: string): string => {
  const rows = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { answer: string });
  return rows
    .map((row, i) => `${JSON.stringify({ ...row, answer: rows[(i + 1) % rows.length]?.answer })}\n`)
    .join('');
};
const swapped = (text: string): string => {
  const { model, ...rest } = JSON.parse(text) as { model: { vocab: Record<string, number> } };
  const { 3: three = 0, 4: four = 0 } = model.vocab;
  return JSON.stringify({
    ...rest,
    model: { ...model, vocab: { ...model.vocab, 3: four, 4: three } },
  });
};

/**
 * Files that a resumed run reads again, each with the setting that names it and a change of its
 * text.
 */
const contents: readonly (readonly [
  key: string,
  file: string,
  change: (text: string) => string,
])[] = [
  ['buffer.explorer_input.tasksets[0].path', 'tasks.jsonl', rotated],
  ['buffer.explorer_input.eval_tasksets[0].path', 'eval.jsonl', rotated],
  ['model.model_path', 'model/tokenizer.json', swapped],
  ['model.model_path', 'model/tokenizer_config.json', (text) => `${text} `],
  ['model.model_path', 'model/chat_template.jinja', () => 'another template'],
  ['explorer.auxiliary_models[0].model_path', 'judge/config.json', (text) => `${text} `],
];

describe('a file whose contents have changed since the run was last started', () => {
  let own: Workspace;
  const begun: Tree = {
    ...evalTasksets,
    explorer: { auxiliary_models: [{ name: 'judge', model_path: 'judge' }], eval_interval: 3 },
  };
  const again = (total: number, options: Partial<RunOptions> = {}): Promise<RunHere> => {
    const file = own.config('run.yaml', begun, { name: 'read' }, steps(total));
    return runHere(own, file, options);
  };
  beforeAll(async () => {
    own = await createWorkspace();
    cpSync(path.join(own.root, 'model'), path.join(own.root, 'judge'), { recursive: true });
    const { error } = await again(1);
    if (error !== undefined) throw error as Error;
  });

  it.each(contents)('is refused by name: %s %s', async (key, file, change) => {
    const place = path.join(own.root, file);
    const before = existsSync(place) ? readFileSync(place, 'utf8') : undefined;
    writeFileSync(place, change(before ?? ''));
    const { error } = await again(2);
    if (before === undefined) rmSync(place);
    else writeFileSync(place, before);
    expect(error).toMatchObject({ name: 'ConfigError' });
    expect(error?.message).toContain(` ${key}: the contents of ${place} have changed`);
    expect(error?.message).toContain('--accept-changed-files');
  });

  it('is refused whatever is accepted if a task set has another number of rows', async () => {
    const before = own.read('tasks.jsonl');
    own.write('tasks.jsonl', `${before}${before.split('\n')[0]}\n`);
    const { error } = await again(2, { acceptChangedFiles: true });
    own.write('tasks.jsonl', before);
    expect(error?.message).toMatch(/Task set "sums" has \d+ rows; it had \d+/);
    expect((await again(1)).error).toBeUndefined();
  });

  it('may have another number of rows as long as no explore step is stored', async () => {
    const stop = new AbortController();
    const early: Tree = { name: 'early', explorer: { eval_on_startup: true } };
    const file = own.config('early.yaml', begun, early, steps(1));
    const record = path.join(own.root, 'runs/tests/early/settings.json');
    const terminal = {
      write: () => void (existsSync(record) && stop.abort()),
      isTTY: false,
      columns: () => 80,
    };
    const { summary } = await runHere(own, file, { signal: stop.signal, terminal });
    expect(summary).toMatchObject({ interrupted: true, trainStep: 0 });
    const before = own.read('tasks.jsonl');
    own.write('tasks.jsonl', `${before}${before.split('\n')[0]}\n`);
    const refused = await runHere(own, file);
    const { error } = await runHere(own, file, { acceptChangedFiles: true });
    own.write('tasks.jsonl', before);
    expect(refused.error?.message).toContain('tasksets[0].path: the contents of');
    expect(error).toBeUndefined();
  });

  it('is detected by a digest that is equal in every JavaScript engine, or by that of earlier versions', async () => {
    const record = 'runs/tests/read/settings.json';
    const text = own.read(record);
    const parsed = JSON.parse(text) as Readonly<Record<'jobDirectory' | 'stages', unknown>> & {
      readonly inputs: readonly Readonly<Record<string, { sha256: string }>>[];
    };
    const rows = own
      .read('tasks.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const digest = (written: readonly (string | Buffer)[]): string =>
      hash('sha256', Buffer.concat(written.map((each) => Buffer.from(each))), 'hex');
    const recorded = parsed.inputs[0]!['buffer.explorer_input.tasksets[0].path']!;
    expect(recorded.sha256).toBe(digest(rows.map((row) => JSON.stringify(row))));
    recorded.sha256 = digest(rows.map((row) => serialize(row)));
    const { jobDirectory, stages, inputs } = parsed;
    const sha256 = hash('sha256', JSON.stringify([jobDirectory, stages, inputs]), 'hex');
    own.write(record, JSON.stringify({ ...parsed, sha256 }));
    expect((await again(1)).error).toBeUndefined();
    own.write(record, text);
  });

  it('is accepted by a flag, and then the tokenizer is that of the checkpoint', async () => {
    const untouched = path.join(own.root, '../', `${path.basename(own.root)}-untouched`);
    cpSync(own.root, untouched, { recursive: true });
    const whole = await runHere({ ...own, root: untouched }, path.join(untouched, 'run.yaml'), {
      overrides: { buffer: { total_steps: 2 } },
    });
    own.write('model/tokenizer.json', swapped(own.read('model/tokenizer.json')));
    const accepted = await again(2, { acceptChangedFiles: true });
    expect([whole.error, accepted.error]).toEqual([undefined, undefined]);
    expect(accepted.output).toMatch(/model\/tokenizer\.json have changed since the run was last/);
    const digest = (root: string): string => weightsDigest(path.join(root, 'runs/tests/read'));
    expect(digest(own.root)).toBe(digest(untouched));
    rmSync(untouched, { recursive: true });
    expect((await again(3)).output).not.toContain('have changed');
  });

  it('is named where it is a plugin', async () => {
    own.write('plugins/_helper.ts', 'export const one = 1;\n');
    expect((await again(4)).error).toBeUndefined();
    own.write('plugins/_helper.ts', 'export const one = 2;\n');
    const { error, output } = await again(5);
    expect(error).toBeUndefined();
    expect(output).toContain('plugins: the plugin plugins/_helper.ts has changed');
  });
});

describe('the record of settings', () => {
  it('has no secrets', async () => {
    const secret = 'very-secret-value';
    const over: Tree = {
      explorer: {
        env_vars: { SERVICE_API_KEY: secret },
        auxiliary_models: [
          {
            name: 'judge',
            model_path: 'judge',
            base_url: 'http://127.0.0.1:9/v1',
            api_key: secret,
          },
        ],
      },
    };
    expect((await start('discreet', steps(1), over)).error).toBeUndefined();
    const text = readFileSync(recordOf('discreet'), 'utf8');
    expect(text).toContain('SERVICE_API_KEY');
    expect(text).not.toContain(secret);
  });

  it('is not missed if an earlier start ended before it opened the model', async () => {
    const file = workspace.config('late.yaml', steps(1), { name: 'late' });
    const first = await runHere(workspace, file, { signal: AbortSignal.abort() });
    expect(first.summary).toMatchObject({ interrupted: true, trainStep: 0 });
    const { error, output } = await runHere(workspace, file);
    expect(error).toBeUndefined();
    expect(output).not.toContain('has no settings.json');
  });

  it.each(['', '{}', '{"stages": [{}]}'])('is refused when damaged: %j', async (text) => {
    expect((await start('damaged', steps(1))).error).toBeUndefined();
    writeFileSync(recordOf('damaged'), text);
    const { error } = await start('damaged', steps(1));
    expect(error).toMatchObject({ name: 'CheckpointError', code: 'SETTINGS_DAMAGED' });
    rmSync(recordOf('damaged'));
    const resumed = await start('damaged', steps(1));
    expect(resumed.error).toBeUndefined();
    expect(resumed.output).toContain('has no settings.json');
  });
});
