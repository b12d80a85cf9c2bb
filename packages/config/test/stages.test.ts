import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, problems, yaml } from './workspace.js';

const cwd = createWorkspace();

const base = {
  algorithm:
    'algorithm:\n  algorithm_type: grpo\n  repeat_times: 8\n  advantage_fn: step_wise_grpo\n  advantage_fn_args: {enable_step_norm: true}\n  policy_loss_fn_args: {clip_range: 0.1}\n  optimizer: {lr: 3e-4, weight_decay: 0}',
  model: 'model:\n  model_path: ./tiny\n  max_model_len: 64',
  buffer:
    'buffer:\n  batch_size: 4\n  explorer_input:\n    taskset: {path: ./tasks.jsonl, default_workflow_type: w}\n  trainer_input:\n    experience_buffer: {storage_type: queue, path: "sqlite:///q.db", name: q}',
};

const warmUp =
  'stages:\n  - stage_name: sft_warmup\n    mode: train\n    algorithm:\n      algorithm_type: sft\n    buffer:\n      train_batch_size: 16\n      total_steps: 10\n      trainer_input:\n        experience_buffer:\n          name: warm\n          path: ./tasks.jsonl\n  - stage_name: rft';

describe('stages', () => {
  it('inherit every key that they do not set', () => {
    const { stages, jobDirectory } = parse(cwd, yaml({ ...base, rest: warmUp })).config;
    expect(
      stages.map(({ stageName, stageIndex, mode, name }) => [stageName, stageIndex, mode, name]),
    ).toEqual([
      ['sft_warmup', 0, 'train', 'rft/sft_warmup'],
      ['rft', 1, 'both', 'rft/rft'],
    ]);
    expect(stages[0].jobDirectory).toBe(join(jobDirectory, 'sft_warmup'));
    expect(stages[0].algorithm.optimizer).toMatchObject({ lr: 3e-4, weightDecay: 0 });
    expect(stages[0].buffer).toMatchObject({ batchSize: 4, trainBatchSize: 16, totalSteps: 10 });
    expect(stages[1]).toMatchObject({
      algorithm: {
        repeatTimes: 8,
        advantageFn: { name: 'step_wise_grpo', args: { enableStepNorm: true } },
        policyLossFn: { args: { clipRange: 0.1 } },
      },
      buffer: {
        totalSteps: undefined,
        trainBatchSize: 32,
        trainerInput: { experienceBuffer: { name: 'q', storageType: 'queue' } },
      },
    });
  });

  it('are not warned of keys that only another stage reads, unless they set them', () => {
    const ignored = (own: string) =>
      parse(
        cwd,
        yaml({
          ...base,
          rest: `synchronizer: {sync_offset: 1}\nstages:\n  - stage_name: a\n    synchronizer: {sync_style: fixed}\n  - stage_name: b\n    synchronizer: {sync_style: fully_async${own}}`,
        }),
      ).warnings.filter((line) => line.includes('sync_offset: ignored'));
    expect(ignored('')).toEqual([]);
    expect(ignored('}\n  - stage_name: c\n    synchronizer: {sync_style: fixed')).toEqual([]);
    expect(ignored(', sync_offset: 2')).toEqual([
      expect.stringContaining('stages[1].synchronizer.sync_offset: ignored'),
    ]);
  });

  it('are warned once of a key of the top level that none of them reads', () => {
    const rest =
      'synchronizer: {sync_style: fully_async, sync_offset: 1}\nstages:\n  - stage_name: a\n  - stage_name: b';
    const { warnings } = parse(cwd, yaml({ ...base, rest }));
    expect(warnings.filter((line) => line.includes('sync_offset: ignored'))).toHaveLength(1);
  });

  it('are warned of a map of which they set a part, and not of a value that they drop', () => {
    const warned = (own: string) =>
      parse(
        cwd,
        yaml({
          ...base,
          algorithm:
            'algorithm:\n  algorithm_type: grpo\n  repeat_times: 8\n  kl_loss_fn_args: {kl_coef: 0.2}\n  loss_agg_norm: 100\n  loss_agg_mode: seq-mean-token-sum-norm',
          rest: `stages:\n  - stage_name: a\n  - stage_name: b\n    algorithm: {kl_loss_fn: none, ${own}}`,
        }),
      ).warnings.filter((line) => line.includes(': ignored. kl') || line.includes('norm: ignored'));
    expect(warned('kl_loss_fn_args: {kl_coef: 0.3}')).toEqual([
      expect.stringContaining('kl_loss_fn_args: ignored. kl_loss_fn is none'),
    ]);
    expect(warned('loss_agg_mode: token-mean, loss_agg_norm: null')).toEqual([]);
  });

  it('leave behind what belongs to another algorithm', () => {
    const [warm] = parse(cwd, yaml({ ...base, rest: warmUp })).config.stages;
    expect(warm.algorithm).toMatchObject({
      algorithmType: 'sft',
      repeatTimes: 1,
      advantageFn: undefined,
      policyLossFn: { name: 'sft', args: {} },
    });
    expect(warm.buffer.trainerInput.experienceBuffer).toMatchObject({
      name: 'warm',
      storageType: 'file',
      path: join(cwd, 'tasks.jsonl'),
    });
  });

  it('leave behind the aggregation of another algorithm', () => {
    const algorithm =
      'algorithm: {algorithm_type: grpo, loss_agg_mode: seq-mean-token-sum, loss_agg_norm: 8}';
    const rest =
      'stages:\n  - stage_name: a\n  - stage_name: b\n    algorithm: {algorithm_type: gspo}';
    const { stages } = parse(cwd, yaml({ ...base, algorithm, rest })).config;
    expect(
      stages.map((stage) => [stage.algorithm.lossAggMode, stage.algorithm.lossAggNorm]),
    ).toEqual([
      ['seq-mean-token-sum', 8],
      ['seq-mean-token-mean', undefined],
    ]);
  });

  it('leave behind the arguments of another function', () => {
    const rest =
      'stages:\n  - stage_name: a\n    algorithm: {advantage_fn: grpo}\n  - stage_name: b\n    algorithm: {advantage_fn_args: {epsilon: 0.5}}';
    const { stages } = parse(cwd, yaml({ ...base, rest })).config;
    const { args, name } = stages[0].algorithm.advantageFn!;
    expect(name).toBe('grpo');
    expect(args).toMatchObject({
      epsilon: 1e-6,
      duplicateExperiences: false,
      stdCalLevel: 'group',
    });
    expect(args).not.toHaveProperty('enableStepNorm');
    expect(stages[1]?.algorithm.advantageFn).toMatchObject({
      name: 'step_wise_grpo',
      args: { epsilon: 0.5, enableStepNorm: true },
    });
  });

  it('override any section, and replace lists', () => {
    const rest =
      'stages:\n  - stage_name: a\n    model: {temperature: 0.5}\n    synchronizer: {sync_interval: 3}\n    monitor: {monitor_type: jsonl}\n    log: {level: DEBUG}\n    buffer:\n      explorer_input:\n        tasksets: [{name: other, path: ./data, default_workflow_type: v}]';
    const [stage] = parse(cwd, yaml({ ...base, rest })).config.stages;
    expect(stage).toMatchObject({
      model: { temperature: 0.5, maxModelLen: 64 },
      synchronizer: { syncInterval: 3 },
      monitor: { sinks: [] },
      log: { level: 'debug' },
    });
    expect(stage.buffer.explorerInput.tasksets.map(({ name, path }) => [name, path])).toEqual([
      ['other', join(cwd, 'data')],
    ]);
  });

  it('start from the stage before, unless they name a model', () => {
    const rest =
      'stages:\n  - stage_name: a\n    model: {model_path: ./tiny}\n  - stage_name: b\n  - stage_name: c\n    model: {model_path: ./tiny}';
    expect(
      parse(cwd, yaml({ ...base, rest })).config.stages.map(({ model }) => model.fromPreviousStage),
    ).toEqual([false, true, false]);
  });

  it('start from the last stage before that trains: a benchmark changes no weights', () => {
    const measured =
      'buffer: {explorer_input: {eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: w}]}}';
    const rest = [
      'stages:',
      `  - {stage_name: base, mode: bench, model: {model_path: owner/other}, ${measured}}`,
      '  - {stage_name: a}',
      `  - {stage_name: between, mode: bench, ${measured}}`,
      '  - {stage_name: b}',
    ].join('\n');
    const { stages } = parse(cwd, yaml({ ...base, rest })).config;
    expect(
      stages.map(({ model: { fromPreviousStage, modelPath } }) => [fromPreviousStage, modelPath]),
    ).toEqual([
      [false, 'owner/other'],
      [false, join(cwd, 'tiny')],
      [true, join(cwd, 'tiny')],
      [true, join(cwd, 'tiny')],
    ]);
  });

  it('are checked as what they become: the top level alone need not be complete', () => {
    const rest =
      'stages:\n  - stage_name: a\n    algorithm: {algorithm_type: grpo}\n    model: {model_path: ./tiny}';
    expect(problems(cwd, yaml({ algorithm: '', model: '', rest }))).toEqual([]);
    expect(problems(cwd, yaml({ algorithm: '', model: '' })).map(({ key }) => key)).toEqual([
      'model.model_path',
    ]);
  });

  it('take nothing as inherited', () => {
    const rest = 'stages:\n  - stage_name: a\n    mode:\n    algorithm:\n    model:\n';
    expect(parse(cwd, yaml({ ...base, rest })).config.stages[0]).toMatchObject({
      mode: 'both',
      algorithm: { repeatTimes: 8 },
    });
  });

  it('refer to keys of the file', () => {
    const rest =
      'stages:\n  - stage_name: ${name}-1\n    explorer: {eval_interval: "${stages[0].synchronizer.sync_interval}"}\n    synchronizer: {sync_interval: 5}';
    expect(parse(cwd, yaml({ ...base, rest, top: 'name: n' })).config.stages[0]).toMatchObject({
      stageName: 'n-1',
      explorer: { evalInterval: 5 },
    });
  });
});
