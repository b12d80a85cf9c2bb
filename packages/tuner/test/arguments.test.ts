import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineAlgorithm } from '@trinity-rft/algorithm';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AlgorithmConfig,
  checkJudgeFunction,
  checkWorkflowFunction,
  comparePromptAndWeights,
  DatasetConfig,
  JudgeOutput,
  learn,
  selectModel,
  TinkerConfig,
  toYaml,
  tune,
  tunePrompt,
  TunerModelConfig,
  WorkflowOutput,
  type WorkflowInput,
} from '../src/index.js';
import { tinyWorld } from './tiny.js';

let world: Awaited<ReturnType<typeof tinyWorld>>;
beforeAll(async () => void (world = await tinyWorld()));
afterAll(() => rmSync(world.cwd, { recursive: true, force: true }));

const solve = async ({ model }: WorkflowInput) => {
  await model.chat([{ role: 'user', content: '1+1' }]);
  return { reward: 1 };
};
const data = { path: 'my_dataset' };
const model = { modelPath: 'model', maxModelLen: 32 };

describe('the configuration classes', () => {
  it('have the defaults of AgentScope', () => {
    expect(AlgorithmConfig()).toEqual({
      algorithmType: 'multi_step_grpo',
      learningRate: 1e-6,
      groupSize: 8,
      batchSize: 32,
      saveIntervalSteps: 100,
      evalIntervalSteps: 100,
    });
    expect(DatasetConfig(data)).toMatchObject({
      path: 'my_dataset',
      split: 'train',
      totalEpochs: 1,
    });
    expect(TunerModelConfig({ modelPath: 'm', maxModelLen: 16384 })).toMatchObject({
      maxTokens: 8192,
      temperature: 1,
      topP: 1,
      toolCallParser: 'hermes',
    });
    expect(TinkerConfig()).toEqual({
      rank: 16,
      trainMlp: true,
      trainAttn: true,
      trainUnembed: true,
    });
  });

  it('name what is wrong, unknown fields too', () => {
    expect(() => AlgorithmConfig({ groupSize: 0, learningRat: 1 } as never)).toThrow(
      /AlgorithmConfig is invalid: groupSize: [\s\S]*learningRat/,
    );
    expect(() => TunerModelConfig({ modelPath: '' } as never)).toThrow(
      /modelPath: [\s\S]*maxModelLen: /,
    );
  });
});

describe('preview', () => {
  it('prints rows as JSON with the characters that they have, and returns them', async () => {
    const file = path.join(world.cwd, 'letters.jsonl');
    writeFileSync(file, '{"question": "größer als 三?"}\n');
    const shown: string[] = [];
    const rows = await DatasetConfig({ path: file }).preview(5, {
      write: (text) => shown.push(text),
    });
    expect(rows).toEqual([{ question: 'größer als 三?' }]);
    expect(shown.join('')).toBe('[\n  {\n    "question": "größer als 三?"\n  }\n]\n');
  });

  it('says what cannot be read', async () => {
    await expect(
      DatasetConfig({ path: path.join(world.cwd, 'my_dataset'), split: 'dev' }).preview(),
    ).rejects.toThrow('has no split "validation"');
    await expect(DatasetConfig({ path: './nowhere.jsonl' }).preview()).rejects.toMatchObject({
      name: 'TaskError',
    });
    await expect(
      DatasetConfig({ path: path.join(world.cwd, 'my_dataset') }).preview(-1),
    ).rejects.toThrow('preview(-1)');
  });
});

describe('functions and outputs', () => {
  it('are rejected unless they take one object', () => {
    expect(() => checkWorkflowFunction('solve')).toThrow(
      'workflowFunc is of type string; expected a function',
    );
    expect(() => checkWorkflowFunction((_task: unknown, _model: unknown) => 1)).toThrow(
      /2 parameters; expected one/,
    );
    expect(() => checkJudgeFunction(class Judge {})).toThrow('is a class');
    expect(() => checkWorkflowFunction(solve)).not.toThrow();
  });

  it('name the field that is wrong', () => {
    expect(() => JudgeOutput({} as never)).toThrow(
      /Judge function "JudgeOutput" returned an invalid output: reward: /,
    );
    expect(() => JudgeOutput({ reward: Number.NaN })).toThrow(/reward: /);
    expect(() => WorkflowOutput({ metrics: { a: 'b' } } as never)).toThrow(/metrics\.a: /);
    expect(WorkflowOutput({ response: 1, reward: null })).toEqual({ response: 1, reward: null });
  });

  it.each([
    [
      'no reward',
      async (input: WorkflowInput) => ({ ...(await solve(input)), reward: null }),
      /"workflowFunc" returned no reward, and there is no judgeFunc/,
    ],
    [
      'nothing',
      async (input: WorkflowInput) => void (await solve(input)),
      /"workflowFunc" returned nothing/,
    ],
    [
      'an error',
      () => Promise.reject(new Error('my agent broke')),
      /dry run on the first row failed[\s\S]*my agent broke/,
    ],
    ['no call', () => ({ reward: 1 }), /no call came through the model of its run/],
  ])(
    'that give %s are found by the dry run, and nothing is written',
    async (_, workflowFunc, message) => {
      const options = {
        trainDataset: data,
        model,
        cwd: world.cwd,
        terminal: world.terminal,
        experimentName: 'broken',
      };
      await expect(
        tune({ ...options, workflowFunc: workflowFunc as unknown as typeof solve }),
      ).rejects.toThrow(message);
    },
  );
});

describe('the configuration of tune', () => {
  const file = (text: string): string => {
    writeFileSync(path.join(world.cwd, 'base.yaml'), text);
    return 'base.yaml';
  };

  it('is that of AgentScope without a file', () => {
    const yaml = toYaml({
      cwd: world.cwd,
      trainDataset: { ...data, totalSteps: 7 },
      evalDataset: { ...data, split: 'test' },
      model: { ...model, temperature: 0.7, topP: 0.9, enableThinking: false },
      experimentName: 'mine',
      auxiliaryModels: {
        judge: { ...model, baseUrl: 'https://example.com/v1', apiKey: 'top-secret' },
      },
    });
    expect(yaml).not.toContain('top-secret');
    expect(parse(yaml)).toMatchObject({
      project: 'AgentScope',
      name: 'mine',
      checkpoint_root_dir: './checkpoints',
      model: {
        model_path: 'model',
        max_model_len: 32,
        max_response_tokens: 16,
        temperature: 0.7,
        top_p: 0.9,
        enable_thinking: false,
      },
      buffer: {
        total_epochs: 1,
        total_steps: 7,
        explorer_input: {
          tasksets: [{ path: 'my_dataset', split: 'train' }],
          eval_tasksets: [{ name: 'eval_taskset', split: 'test' }],
        },
      },
      explorer: {
        runner_per_model: 16,
        max_timeout: 3600,
        auxiliary_models: [{ name: 'judge', base_url: 'https://example.com/v1' }],
      },
      synchronizer: { sync_style: 'dynamic_by_explorer', sync_interval: 1 },
      monitor: { monitor_type: 'tensorboard' },
    });
  });

  it('has an environment variable instead of each secret, under any key', () => {
    const configPath = file(`project: p
name: n
algorithm: { algorithm_type: grpo }
model: { model_path: model, max_model_len: 32, max_response_tokens: 16 }
buffer:
  total_steps: 1
  explorer_input:
    taskset: { path: my_dataset, workflow_args: { db_password: db-pw-1234, url: "pg://u:pg-pw@h/d", keys: [k-1, 12] } }
explorer: { env_vars: { SEARCH_TOKEN: search-1, MY_KEY: "\${oc.env:HOME}" } }
monitor:
  monitor_type: wandb
  monitor_args: { api_key: wandb-key-123, password: null }
`);
    const tree = parse(
      toYaml({
        cwd: world.cwd,
        configPath,
        auxiliaryModels: {
          a: { ...model, baseUrl: 'https://example.com/v1', apiKey: 'key-a' },
          b: { ...model, baseUrl: 'https://example.com/v1', apiKey: 'key-b' },
        },
      }),
    ) as object;
    const at = (place: string): string => `\${oc.env:${place}}`;
    const args = 'BUFFER_EXPLORER_INPUT_TASKSET_WORKFLOW_ARGS';
    expect(tree).toMatchObject({
      model: { max_response_tokens: 16 },
      buffer: {
        explorer_input: {
          taskset: {
            path: 'my_dataset',
            workflow_args: {
              db_password: at(`${args}_DB_PASSWORD`),
              url: at(`${args}_URL`),
              keys: [at(`${args}_KEYS_0`), at(`${args}_KEYS_1`)],
            },
          },
        },
      },
      explorer: {
        env_vars: { SEARCH_TOKEN: at('EXPLORER_ENV_VARS_SEARCH_TOKEN'), MY_KEY: at('HOME') },
        auxiliary_models: [
          { api_key: at('EXPLORER_AUXILIARY_MODELS_0_API_KEY') },
          { api_key: at('EXPLORER_AUXILIARY_MODELS_1_API_KEY') },
        ],
      },
      monitor: { monitor_args: { api_key: at('MONITOR_MONITOR_ARGS_API_KEY'), password: null } },
    });
  });

  it('is the file, overridden by the arguments that are given, auxiliary models by name', () => {
    const configPath = file(`project: Mine
algorithm: { algorithm_type: grpo }
model: { model_path: model, max_model_len: 32 }
buffer:
  batch_size: 5
  total_steps: 50
  explorer_input: { taskset: { name: sums, path: my_dataset/test.jsonl, format: { prompt_key: question } } }
explorer:
  auxiliary_models:
    - { name: judge, model_path: old, base_url: https://example.com/v1 }
    - { name: helper, model_path: model }
`);
    const tree = parse(
      toYaml({
        cwd: world.cwd,
        configPath,
        trainDataset: { ...data, totalEpochs: 3 },
        auxiliaryModels: {
          judge: { ...model, modelPath: 'new', baseUrl: 'https://example.com/v2' },
        },
      }),
    ) as object;
    expect(tree).toMatchObject({
      project: 'Mine',
      buffer: {
        batch_size: 5,
        total_epochs: 3,
        total_steps: null,
        explorer_input: {
          taskset: null,
          tasksets: [{ name: 'sums', path: 'my_dataset', format: { prompt_key: 'question' } }],
        },
      },
      explorer: {
        auxiliary_models: [
          { name: 'helper' },
          { name: 'judge', model_path: 'new', base_url: 'https://example.com/v2' },
        ],
      },
    });
    expect(tree).not.toHaveProperty('checkpoint_root_dir');
  });

  it.each([
    [{}, { total_epochs: 4, total_steps: 50 }],
    [{ totalEpochs: 3 }, { total_epochs: 3, total_steps: null }],
    [{ totalSteps: 7 }, { total_epochs: 4, total_steps: 7 }],
  ])('has the length of the file unless the data set %j gives one', (length, buffer) => {
    const configPath = file(`project: Mine
algorithm: { algorithm_type: grpo }
model: { model_path: model, max_model_len: 32 }
buffer: { total_epochs: 4, total_steps: 50, explorer_input: { taskset: { path: my_dataset } } }
`);
    const yaml = toYaml({ cwd: world.cwd, configPath, trainDataset: { ...data, ...length } });
    expect(parse(yaml)).toMatchObject({ buffer });
  });

  it('takes algorithms of a program by name', () => {
    const settings = {
      trainDataset: data,
      model,
      algorithm: { algorithmType: 'mine' },
      cwd: world.cwd,
    };
    expect(() => toYaml(settings)).toThrow(
      /algorithm\.algorithm_type: got "mine", expected one of grpo/,
    );
    const mine = defineAlgorithm({ name: 'mine', advantageFn: 'rloo' });
    expect(parse(toYaml({ ...settings, algorithms: [mine] }))).toMatchObject({
      algorithm: { algorithm_type: 'mine' },
    });
  });

  it('tells mistakes of the file with their place, and those of arguments as such', async () => {
    const configPath = file('project: Mine\nmodel: { model_path: model, max_model_len: 1 }\n');
    const tried = tune({
      workflowFunc: solve,
      cwd: world.cwd,
      configPath,
      trainDataset: data,
      monitorType: 'paper',
    });
    await expect(tried).rejects.toThrow(/base\.yaml:2:\d+ model\.max_model_len: /);
    await expect(tried).rejects.toThrow(/tune\(\): monitor\.monitor_type/);
  });

  it.each([
    ['no rows', { model }, 'tune() needs trainDataset. Pass it, or configPath.'],
    ['nothing at all', {}, 'tune() needs trainDataset and model. Pass them, or configPath.'],
    [
      'Tinker',
      { trainDataset: data, model: { ...model, tinkerConfig: TinkerConfig() } },
      'the Tinker service is not supported yet',
    ],
    [
      'a model behind an API',
      { trainDataset: data, model: { ...model, baseUrl: 'https://example.com/v1' } },
      'cannot be trained',
    ],
  ])('is rejected with %s', async (_, settings, message) => {
    await expect(tune({ workflowFunc: solve, cwd: world.cwd, ...settings })).rejects.toThrow(
      message,
    );
  });
});

it.each<readonly [string, (options: never) => Promise<unknown>, string, string]>([
  ['tune()', tune, 'evalDataSet', 'Did you mean "evalDataset"?'],
  ['learn()', learn, 'terminals', 'Did you mean "terminal"?'],
  ['tunePrompt()', tunePrompt, 'directory', 'It takes workflowFunc,'],
  ['selectModel()', selectModel, 'maxThread', 'Did you mean "maxThreads"?'],
  ['comparePromptAndWeights()', comparePromptAndWeights, 'price', 'Did you mean "prices"?'],
])('options that %s does not take are rejected', async (name, call, option, advice) => {
  await expect(call({ workflowFunc: solve, [option]: 1 } as never)).rejects.toThrow(
    `There is no argument "${option}" of ${name}. ${advice}`,
  );
});
