import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { BaseModels } from '../store/base-models.js';
import type { FileStore } from '../store/files.js';
import type { JobRecord, JobStore } from '../store/jobs.js';
import { prepareJob, trainedName } from './prepare.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trinity-prepare-'));
  const config = {
    model_type: 'qwen2',
    hidden_size: 64,
    intermediate_size: 64,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    vocab_size: 9,
    max_position_embeddings: 128,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
  };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(config));
  const messages = ['user', 'assistant'].map((role) => ({ role, content: role }));
  await writeFile(path.join(folder, 'rows.jsonl'), JSON.stringify({ messages }));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const jobOf = (id: string, model: string, checkpoint: string | null): JobRecord => ({
  id: `ftjob-${id.repeat(24)}`,
  created_at: 0,
  model,
  training_file: 'file',
  validation_file: null,
  suffix: '',
  seed: 1,
  metadata: null,
  request: '',
  method: {
    type: 'supervised',
    supervised: {
      hyperparameters: { n_epochs: 1, batch_size: 'auto', learning_rate_multiplier: 'auto' },
    },
  },
  status: checkpoint === null ? 'validating_files' : 'succeeded',
  finished_at: null,
  error: null,
  result_files: [],
  trained_tokens: null,
  steps: null,
  checkpoint,
  deleted: false,
  notified: false,
});

const prepare = (job: JobRecord, list: readonly JobRecord[], models: BaseModels) =>
  prepareJob(job, {
    jobs: { list: () => list, folderOf: () => folder } as Partial<JobStore> as JobStore,
    files: { pathOf: () => path.join(folder, 'rows.jsonl') } as Partial<FileStore> as FileStore,
    models,
    runs: folder,
    pythonGraders: false,
  });

/** Prepares the last of three jobs. Each job after the first one continues the job before it. */
function prepareThird(models: BaseModels, deleted: boolean) {
  const first = jobOf('a', 'base', folder);
  const second = jobOf('b', trainedName(first)!, folder);
  const third = jobOf('c', trainedName(second)!, null);
  return prepare(third, [{ ...first, deleted }, second, third], models);
}

it.each([false, true])(
  'keeps the settings of the base model, also if a model between was deleted: %s',
  async (deleted) => {
    const lora = [{ lora_rank: 99, lora_alpha: 9, target_modules: 'all-linear' }];
    const model = { model_path: 'base', max_model_len: 77, lora_configs: lora };
    expect((await prepareThird({ base: { model } }, deleted)).error).toBeUndefined();
    expect(parse(await readFile(path.join(folder, 'config.yaml'), 'utf8'))).toMatchObject({
      model: { ...model, model_path: folder },
    });
  },
);

it('reports a model whose base model the server does not have any more', async () => {
  const { error } = await prepareThird({ other: { model: { model_path: folder } } }, false);
  expect(error).toMatchObject({ code: 'model_not_available', param: 'model' });
});

it('reports a model of a grader that the server does not have any more', async () => {
  const grader = { type: 'score_model', name: 'judge', model: 'judge', input: [] } as const;
  const reinforcement = { grader, hyperparameters: {} } as never;
  const job = { ...jobOf('a', 'base', null), method: { type: 'reinforcement', reinforcement } };
  const models = { base: { model: { model_path: folder } } };
  const { error } = await prepare(job as JobRecord, [], models);
  expect(error).toMatchObject({ param: 'method.reinforcement.grader' });
  expect(error?.message).toContain('The model "judge" is not here any more');
});
