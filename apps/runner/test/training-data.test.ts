// Tests sources of train batches besides rollouts: pairs, experts and teachers. Also tests rollouts
// that are filtered by operators.
import { linkSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readExperiences, sqliteExperienceStore } from '@trinity-rft/buffer';
import { createExperience } from '@trinity-rft/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { mainHere } from './support/main-here.js';
import { runHere } from './support/run-here.js';
import {
  checkpointSteps,
  metricLines,
  usedRows,
  weightsDigest,
  type Metrics,
} from './support/run-record.js';
import { killedTrinity, runArgs, trinity, type KillPoint } from './support/trinity.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  const pairs = Array.from({ length: 20 }, (_, a) => ({
    question: `${a}+1=`,
    good: String((a + 1) % 10),
    bad: 'no',
  }));
  workspace.write('pairs.jsonl', pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
  workspace.write(
    'experts.jsonl',
    pairs.map(({ question, good }) => `${JSON.stringify({ question, answer: good })}\n`).join(''),
  );
});

const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

async function runIt(name: string, ...over: readonly Tree[]) {
  const config = workspace.config(`${name}.yaml`, { name }, ...over);
  const { error, output } = await runHere(workspace, config);
  const lines = metricLines(job(name));
  const of = (role: string): readonly Metrics[] =>
    lines.filter((line) => line.role === role).map(({ metrics }) => metrics);
  return { error, output, config, explorer: of('explorer'), trainer: of('trainer') };
}

const recordOf = (name: string) => ({
  digest: weightsDigest(job(name)),
  checkpoints: checkpointSteps(job(name)),
  lines: byRole(name),
});
const byRole = (name: string) =>
  metricLines(job(name)).toSorted((a, b) => a.role.localeCompare(b.role) || a.step - b.step);
interface Shown {
  readonly step: number;
  readonly response_text: string;
  readonly reward?: number;
  readonly info: Readonly<Record<string, unknown>>;
}
const previewOf = (name: string): readonly Shown[] =>
  readFileSync(path.join(job(name), 'monitor/samples.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Shown);

const column = (rows: readonly Metrics[], name: string) => rows.map((row) => row[name]);

/** Runs a configuration that is killed and then resumed. */
async function killedAndResumed(
  name: string,
  point: KillPoint,
  ...over: readonly Tree[]
): Promise<void> {
  const config = workspace.config(`${name}.yaml`, { name }, ...over);
  const killed = await killedTrinity(workspace.root, runArgs(config), point);
  expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
  expect((await runHere(workspace, config)).error).toBeUndefined();
}

const experts = {
  storage_type: 'file',
  path: 'experts.jsonl',
  format: { prompt_type: 'plaintext', prompt_key: 'question', response_key: 'answer' },
  data_selector: { selector_type: 'shuffle' },
};
const sft: Tree = {
  mode: 'train',
  algorithm: { algorithm_type: 'sft', repeat_times: undefined },
  buffer: {
    train_batch_size: 10,
    trainer_input: { experience_buffer: { ...experts, name: 'experts' } },
  },
};

describe('dpo on a file of pairs', () => {
  const dpo: Tree = {
    mode: 'train',
    algorithm: {
      algorithm_type: 'dpo',
      repeat_times: undefined,
      kl_loss_fn: undefined,
      optimizer: { lr: 2e-2 },
    },
    buffer: {
      train_batch_size: 5,
      total_steps: 8,
      trainer_input: {
        experience_buffer: {
          name: 'pairs',
          storage_type: 'file',
          path: 'pairs.jsonl',
          format: {
            prompt_type: 'plaintext',
            prompt_key: 'question',
            chosen_key: 'good',
            rejected_key: 'bad',
          },
          data_selector: { selector_type: 'shuffle' },
        },
      },
    },
    trainer: { save_interval: 3 },
  };

  it(
    'learns which answer is preferred, and ends the same when it was killed',
    { tags: ['slow'] },
    async () => {
      const { error, trainer } = await runIt('dpo', dpo);
      expect(error).toBeUndefined();
      expect(trainer).toHaveLength(8);
      expect(trainer.every((metrics) => metrics['sample/task_count'] === 5)).toBe(true);
      expect(trainer[0]!['actor/dpo_loss']).toBeCloseTo(Math.log(2), 5);
      expect(trainer.at(-1)!['actor/dpo_loss']).toBeLessThan(0.5);
      expect(trainer.at(-1)!['actor/accuracy_mean']).toBe(1);
      const shown = previewOf('dpo');
      expect(shown.slice(0, 3).map(({ step, info }) => [step, info])).toEqual([
        [1, { preference: 'chosen' }],
        [1, { preference: 'rejected' }],
        [2, { preference: 'chosen' }],
      ]);
      expect(shown[1]!.response_text).toBe('no<|im_end|>');
      await killedAndResumed(
        'dpo killed',
        { call: 'append', match: 'metrics.jsonl', nth: 5, when: 'before' },
        dpo,
      );
      expect(recordOf('dpo killed')).toEqual(recordOf('dpo'));
    },
  );

  it('learns what a person has chosen among answers of a run, in a database', async () => {
    await runIt('answers', { buffer: { total_steps: 2 } });
    const at = (file: string): string => path.join(workspace.root, file);
    const answers = path.join(job('answers'), 'buffer/experience_buffer.db');
    const choices = `sqlite:///${at('choices.db')}`;
    const tasks = ['--tasks', at('tasks.jsonl'), '--prompt-key', 'question'];
    expect(await mainHere('pairs', answers, ...tasks, '--output', choices)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/choices\.db: [1-8] new pairs?\n/) as unknown,
    });
    const database = new DatabaseSync(at('choices.db'));
    const { changes } = database.prepare('UPDATE pairs SET preferred = 2').run();
    database.close();
    const { exitCode } = await mainHere('pairs', choices, '--output', at('chosen.jsonl'));
    expect(exitCode).toBe(0);
    const format = { prompt_type: 'plaintext', prompt_key: 'prompt', chosen_key: 'chosen' };
    const { error, trainer } = await runIt('chosen', dpo, {
      buffer: {
        train_batch_size: 1,
        total_steps: Number(changes),
        trainer_input: {
          experience_buffer: {
            path: 'chosen.jsonl',
            format: { ...format, rejected_key: 'rejected' },
          },
        },
      },
    });
    expect(error).toBeUndefined();
    expect(trainer).toHaveLength(Number(changes));
    expect(previewOf('chosen')[0]).toMatchObject({ info: { preference: 'chosen' } });
  });

  it('writes pairs and rows only to a new or an empty file', async () => {
    const at = (file: string): string => path.join(workspace.root, file);
    const store = sqliteExperienceStore({ path: at('compared.db') });
    await store.put(
      [0, 1].map((run) =>
        createExperience({
          eid: { batch: 1, task: 0, run, step: 0, suffix: '0' },
          tokens: [1, 2],
          promptLength: 1,
          reward: run,
          responseText: String(run),
          info: { row: 0 },
        }),
      ),
    );
    await store.close();
    const tasks = ['--tasks', at('tasks.jsonl'), '--prompt-key', 'question'];
    const compare = (...options: readonly string[]) =>
      mainHere('pairs', at('compared.db'), ...tasks, ...options);
    const text = (file: string): string => readFileSync(at(file), 'utf8');
    workspace.write('people.jsonl', '');
    const written = await compare('--output', at('people.jsonl'));
    expect(written.stdout).toContain('people.jsonl: 1 new pair\n');
    workspace.write('people.jsonl', text('people.jsonl').replace('null', '2'));
    await compare('--label-studio', '--output', at('people.json'));
    linkSync(at('people.jsonl'), at('linked.jsonl'));
    const files = ['people.jsonl', 'people.json', 'linked.jsonl', 'tasks.jsonl', 'compared.db'];
    const before = files.map(text);
    const refused = await Promise.all(
      files.flatMap((file) => [
        compare('--output', at(file)),
        mainHere('pairs', at('people.jsonl'), '--output', at(file)),
      ]),
    );
    for (const { exitCode, stderr } of refused) {
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/is not empty.*Name a new file/);
    }
    expect(files.map(text)).toEqual(before);
  });

  it('names file, row, key and cure of a bad row before anything starts', async () => {
    workspace.write(
      'bad-pairs.jsonl',
      '{"question":"1+1=","good":"2","bad":"3"}\n{"question":"1+2=","good":"3"}\n',
    );
    const { error } = await runIt('bad', dpo, {
      buffer: { trainer_input: { experience_buffer: { path: 'bad-pairs.jsonl' } } },
    });
    expect(error?.message).toMatch(
      /"pairs" \(.*bad-pairs\.jsonl\): 1 of 2 rows cannot be learned from/,
    );
    expect(error?.message).toContain(
      'Row 1, key "bad": nothing is there; the row has question, good. Set format.chosen_key and format.rejected_key',
    );
    expect(checkpointSteps(job('bad'))).toEqual([]);
  });

  it('names a row that the model has no room for before anything starts', async () => {
    workspace.write(
      'long.jsonl',
      `{"question":"1+1=","answer":"2"}\n{"question":"${'1'.repeat(80)}=","answer":"2"}\n`,
    );
    const over = {
      buffer: {
        total_steps: 2,
        train_batch_size: 1,
        trainer_input: { experience_buffer: { path: 'long.jsonl' } },
      },
    };
    const { error } = await runIt('long', sft, over);
    expect(error?.message).toMatch(
      /1 of 2 rows cannot be learned from[^]*Row 1 of "experts": it has \d+ tokens with the chat template/,
    );
    expect(error?.message).toContain(
      'expected at most 64, the positions of the model. Shorten or remove the row.',
    );
    const file = workspace.config('long.yaml', { name: 'long' }, sft, over);
    const checked = await trinity(workspace.root, 'config', 'check', file);
    expect([checked.exitCode, checked.stderr]).toEqual([
      2,
      expect.stringMatching(/experience_buffer\.path: [^]*Row 1 of "experts": it has \d+ tokens/),
    ]);
  });

  it('says when the rows do not fill the steps', async () => {
    const rows = (steps: Tree): Tree => ({
      ...sft,
      mode: 'train',
      buffer: {
        train_batch_size: 32,
        total_steps: null,
        trainer_input: { experience_buffer: experts },
      },
      ...steps,
    });
    const { error } = await runIt('few', rows({}));
    expect(error?.message).toMatch(
      /buffer\.train_batch_size: got 32, but the data set holds 20 rows, which in 1 epochs do not fill one train step/,
    );
    const file = workspace.config('ends.yaml', rows({ trainer: { total_steps: 100 } }), {
      name: 'ends',
      buffer: { train_batch_size: 10 },
    });
    const { exitCode, stdout } = await trinity(workspace.root, 'config', 'check', file);
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringContaining('trainer.total_steps: got 100, but the rows end after 2 train steps'),
    ]);
  });
});

describe('experts mixed into the batches of a run', () => {
  const mix = (type: string): Tree => ({
    algorithm: {
      algorithm_type: type,
      repeat_times: 4,
      sample_strategy_args: { expert_data_ratio: 0.25 },
    },
    buffer: {
      train_batch_size: 16,
      total_steps: 6,
      trainer_input: { auxiliary_buffers: { sft_dataset: experts } },
    },
    trainer: { save_interval: 2 },
  });

  /** Creates an earlier run with recorded experiences. */
  beforeAll(async () => {
    const { error } = await runIt('earlier', mix('mix'));
    if (error) throw error;
  });

  it.each(['mix', 'mix_chord'])(
    '%s: each batch has its share of them, and a killed run ends the same',
    { timeout: 240_000 },
    async (type) => {
      const { error, trainer } = await runIt(type, mix(type));
      expect(error).toBeUndefined();
      expect(new Set(column(trainer, 'sample/expert_count'))).toEqual(new Set([4]));
      expect(column(trainer, 'sample/expert_epoch').slice(0, 3)).toEqual([0.2, 0.4, 0.6]);
      expect(
        previewOf(type)
          .filter(({ step }) => step === 1)
          .map(({ info }) => info['is_expert'] === true),
      ).toEqual([false, false, true]);
      // 12 of 16 rows are runs, so an explore step of 16 runs is cut into two batches of 8.
      expect(trainer).toHaveLength(12);
      const rows = usedRows(path.join(job(type), 'buffer/experience_buffer.db'));
      expect(rows.map(({ trainStep }) => trainStep)).toEqual(
        rows.map((_, i) => Math.floor(i / 8) + 1),
      );
      const point: KillPoint = { call: 'append', match: 'metrics.jsonl', nth: 9, when: 'before' };
      await killedAndResumed(`${type} killed`, point, mix(type));
      expect(recordOf(`${type} killed`)).toEqual(recordOf(type));
    },
  );

  it(
    'may be what an earlier run has stored, which stays as it is',
    { timeout: 240_000 },
    async () => {
      const earlier = path.join(job('earlier'), 'buffer/experience_buffer.db');
      const before = usedRows(earlier);
      const stored = { storage_type: 'sql', path: `sqlite:///${earlier}` };
      const over = {
        buffer: { total_steps: 3, trainer_input: { auxiliary_buffers: { sft_dataset: stored } } },
      };
      const { error, trainer } = await runIt('from stored', mix('mix'), over);
      expect(error).toBeUndefined();
      expect(trainer[0]).toMatchObject({ 'sample/expert_count': 4, 'sample/expert_epoch': 4 / 96 });
      expect(usedRows(earlier)).toEqual(before);
    },
  );

  it('go beside stored experiences as well, in mode train', { timeout: 240_000 }, async () => {
    const database = path.join(job('earlier'), 'buffer/experience_buffer.db');
    const own = { storage_type: 'sql', path: `sqlite:///${database}`, name: 'earlier' };
    const over = {
      mode: 'train',
      buffer: { total_steps: undefined, trainer_input: { experience_buffer: own } },
    };
    const { error, trainer } = await runIt('offline', mix('mix'), over);
    expect(error).toBeUndefined();
    expect(new Set(column(trainer, 'sample/expert_count'))).toEqual(new Set([4]));
    expect(
      usedRows(path.join(job('offline'), 'buffer/experience_buffer.db')).map(
        ({ trainStep }) => trainStep,
      ),
    ).toEqual(usedRows(database).map((_, i) => Math.floor(i / 12) + 1));
  });

  it('are refused when they cannot be found, or leave nothing to the model', async () => {
    const none = await runIt('none', mix('mix'), {
      algorithm: { sample_strategy_args: { sft_dataset_name: 'experts' } },
    });
    expect(none.error?.message).toContain('sft_dataset');
    const all = await runIt('all', mix('mix'), {
      algorithm: { sample_strategy_args: { expert_data_ratio: 1 } },
    });
    expect(all.error?.message).toContain('expert_data_ratio');
  });
});

describe('staleness_control', () => {
  // An explore step gives two batches; the second one is one version behind.
  const fresh: Tree = {
    algorithm: { sample_strategy: 'staleness_control', sample_strategy_args: { max_staleness: 1 } },
    buffer: { train_batch_size: 8 },
    trainer: { save_interval: 2 },
  };

  it('says so if it has discarded most experiences', { timeout: 240_000 }, async () => {
    const { error, output } = await runIt('mostly stale', fresh, {
      buffer: { train_batch_size: 4, total_steps: 2 },
    });
    expect(error).toBeUndefined();
    expect(output).toContain('12 of 20 experiences were not trained on');
  });

  it(
    'trains on what is fresh, counts what it refuses, and ends the same when it was killed',
    { tags: ['slow'] },
    async () => {
      const { error, trainer } = await runIt('fresh', fresh);
      expect(error).toBeUndefined();
      expect(trainer.every((metrics) => (metrics['sample/staleness/max'] ?? 0) === 0)).toBe(true);
      expect(column(trainer, 'sample/stale_dropped').slice(0, 3)).toEqual([0, 8, 8]);
      const database = (name: string) => path.join(job(name), 'buffer/experience_buffer.db');
      for (const nth of [4, 9]) {
        await killedAndResumed(
          `fresh killed ${nth}`,
          { call: 'commit', match: '', nth, when: 'after' },
          fresh,
        );
        expect(recordOf(`fresh killed ${nth}`)).toEqual(recordOf('fresh'));
        expect(usedRows(database(`fresh killed ${nth}`))).toEqual(usedRows(database('fresh')));
      }
    },
  );
});

describe('operators of the experience pipeline', () => {
  it(
    'of the preset: dapo keeps tasks with both right and wrong runs',
    { timeout: 240_000 },
    async () => {
      const { error, explorer } = await runIt('dapo', {
        algorithm: { algorithm_type: 'dapo', kl_loss_fn: undefined },
      });
      expect(error).toBeUndefined();
      const [first] = explorer;
      const dropped = first!['experience_pipeline/dapo_dynamic_sampling/filtered_count']!;
      expect(first!['experience_pipeline/experience_count']).toBe(16 - dropped);
      expect(first).toHaveProperty(
        'experience_pipeline/mask_response_truncated/masked_truncated_count',
      );
    },
  );

  it(
    'of the file take the place of those, and change the reward before the advantage',
    { timeout: 240_000 },
    async () => {
      const operators = [
        {
          name: 'overlong_penalty',
          args: { max_response_length: 4, cache_length: 3, penalty_factor: 10 },
        },
        { name: 'reward_filter', args: { threshold: -4 } },
      ];
      const over = {
        algorithm: { algorithm_type: 'dapo', kl_loss_fn: undefined },
        data_processor: { experience_pipeline: { operators } },
      };
      const { error, explorer } = await runIt('own operators', over);
      expect(error).toBeUndefined();
      expect(explorer[0]).not.toHaveProperty(
        'experience_pipeline/dapo_dynamic_sampling/filtered_count',
      );
      expect(explorer[0]!['experience_pipeline/overlong_penalty/overlong_penalty/min']).toBe(-10);
      expect(explorer[0]!['experience_pipeline/reward_filter/filtered_count']).toBeGreaterThan(0);
    },
  );

  it(
    'that drop everything leave the run going, say so, and are the reason it trained nothing',
    { timeout: 240_000 },
    async () => {
      const operators = [{ name: 'reward_filter', args: { threshold: 100 } }];
      const { error, explorer, output } = await runIt('nothing left', {
        data_processor: { experience_pipeline: { operators } },
      });
      expect(explorer).toHaveLength(6);
      expect(column(explorer, 'experience_pipeline/experience_count')).toEqual([0, 0, 0, 0, 0, 0]);
      expect(output).toContain('Nothing was left to train on of the last 3 explore steps');
      expect(error).toMatchObject({ code: 'NOTHING_TRAINED' });
    },
  );

  it(
    'and advantage functions may drop rows: raft trains on the best run of each task',
    { timeout: 240_000 },
    async () => {
      const { error, explorer, trainer } = await runIt('raft', {
        algorithm: { algorithm_type: 'raft', kl_loss_fn: undefined },
      });
      expect(error).toBeUndefined();
      expect(trainer.length).toBeGreaterThan(0);
      expect(explorer[0]!['experience_pipeline/experience_count']).toBeLessThan(16);
    },
  );
});

describe('distillation from a teacher in a folder', () => {
  let teacher: string;
  beforeAll(async () => {
    const { summary, error } = await runHere(
      workspace,
      workspace.config('teacher.yaml', { name: 'teacher' }, sft, { buffer: { total_steps: 20 } }),
    );
    if (error) throw error;
    teacher = summary!.checkpoint!;
  });

  const distill = (type: string, shape: string): Tree => ({
    algorithm: {
      algorithm_type: type,
      repeat_times: 4,
      kl_loss_fn: undefined,
      optimizer: { lr: 6e-2 },
    },
    buffer: {
      batch_size: 8,
      total_steps: 12,
      explorer_input: {
        default_workflow_type: 'on_policy_distill_workflow',
        default_reward_fn_type: undefined,
      },
    },
    explorer: {
      auxiliary_models: [
        { name: 'teacher', model_path: teacher, max_prompt_tokens: 40, max_response_tokens: 4 },
      ],
      experience_shape: shape,
    },
  });

  it.each([
    ['on_policy_distill', 'step'],
    ['jsd', 'trajectory'],
  ])(
    '%s: the student comes nearer to its teacher, from stored records of shape %s',
    { timeout: 240_000 },
    async (type, shape) => {
      const { error, explorer } = await runIt(type, distill(type, shape));
      expect(error).toBeUndefined();
      const divergence = column(explorer, 'rollout/kl_divergence/mean') as readonly number[];
      expect(divergence[0]).toBeGreaterThan(0.3);
      expect(divergence.at(-1)!).toBeLessThan(divergence[0]! / 2);
      const reader = readExperiences(path.join(job(type), 'buffer/experience_buffer.db'));
      const { experience } = reader.row(1)!;
      expect(experience.teacherLogprobs).toHaveLength(experience.logprobs.length);
      reader.close();
    },
  );

  it('gives the same bytes again, also when it was killed', { tags: ['slow'] }, async () => {
    const over = [distill('jsd', 'step'), { trainer: { save_interval: 3 } }] as const;
    for (const name of ['once', 'twice'])
      expect((await runIt(name, ...over)).error).toBeUndefined();
    expect(recordOf('twice')).toEqual(recordOf('once'));
    await killedAndResumed(
      'once more',
      { call: 'commit', match: '', nth: 9, when: 'before' },
      ...over,
    );
    expect(recordOf('once more')).toEqual(recordOf('once'));
  });

  it('has no divergence when the teacher is the student itself', { timeout: 240_000 }, async () => {
    const self = {
      explorer: {
        auxiliary_models: [
          { name: 'self', model_path: 'model', max_prompt_tokens: 40, max_response_tokens: 4 },
        ],
      },
    };
    const { error, explorer } = await runIt('self', distill('on_policy_distill', 'step'), self, {
      buffer: { total_steps: 1 },
    });
    expect(error).toBeUndefined();
    expect(Math.abs(explorer[0]!['rollout/kl_divergence/max']!)).toBeLessThan(1e-4);
  });
});
