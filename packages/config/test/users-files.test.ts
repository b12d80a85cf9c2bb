import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createWorkspace, parse, problems, stageOf, yaml } from './workspace.js';

const cwd = createWorkspace();

/** Configuration in the guides of Trinity-RFT for an agent that calls tools. */
const agent = `
project: agents
name: calculator
checkpoint_root_dir: \${oc.env:TRINITY_CHECKPOINT_ROOT_DIR,./checkpoints}
algorithm:
  algorithm_type: grpo
  advantage_fn: step_wise_grpo
  repeat_times: 4
model:
  model_path: \${oc.env:TRINITY_MODEL_PATH}
  max_response_tokens: 128
  max_model_len: 384
cluster:
  node_num: 1
  gpu_per_node: 8
buffer:
  batch_size: 8
  train_batch_size: 64
  explorer_input:
    taskset:
      name: sums
      path: \${oc.env:TRINITY_TASKSET_PATH}
      default_workflow: "react_workflow"
      format: { prompt_key: "question", response_key: "answer" }
      rollout_args: { temperature: 0.7 }
      task_selector: { selector_type: shuffle }
    eval_tasksets:
  trainer_input:
    experience_buffer:
      name: sums_buffer
      storage_type: queue
      path: 'sqlite:///sums.db'
explorer:
  eval_interval: 50
  runner_per_model: 8
  rollout_model:
    engine_type: vllm_async
    engine_num: 4
    tensor_parallel_size: 1
    enable_prefix_caching: false
    enable_openai_client: true
    enable_history: true
    enable_auto_tool_choice: true
    tool_call_parser: hermes
    reasoning_parser: deepseek_r1
    enable_thinking: true
    dtype: bfloat16
    seed: 42
synchronizer:
  sync_style: dynamic_by_explorer
  sync_method: 'nccl'
  sync_interval: 2
trainer:
  trainer_type: verl
  save_interval: 100
  grad_clip: 1.0
  use_dynamic_bsz: true
  ulysses_sequence_parallel_size: 2
monitor:
  monitor_type: tensorboard
`;
const env = { TRINITY_MODEL_PATH: './tiny', TRINITY_TASKSET_PATH: './tasks.jsonl' };

describe('a file written for the original', () => {
  it('runs, and says in one line each what it ignores', () => {
    const { warnings } = parse(cwd, agent, { env });
    expect(warnings.map((line) => /^run\.yaml:\d+:\d+ ([\w.]+): /.exec(line)?.[1])).toEqual([
      'cluster.node_num',
      'cluster.gpu_per_node',
      'buffer.train_batch_size',
      'buffer.explorer_input.taskset.task_selector',
      'buffer.trainer_input.experience_buffer.path',
      'explorer.rollout_model.engine_type',
      'explorer.rollout_model.engine_num',
      'explorer.rollout_model.enable_prefix_caching',
      'synchronizer.sync_method',
      'trainer.trainer_type',
      'trainer.ulysses_sequence_parallel_size',
    ]);
  });

  it('means what it means there', () => {
    const stage = stageOf(cwd, agent, { env });
    expect(stage.algorithm).toMatchObject({
      algorithmType: 'grpo',
      repeatTimes: 4,
      advantageFn: {
        name: 'step_wise_grpo',
        args: { epsilon: 1e-6, enableStepNorm: false, stdCalLevel: 'group' },
      },
      policyLossFn: { name: 'ppo', args: { clipRange: 0.2, clipRatioC: 3 } },
      klLossFn: { name: 'k2', args: { klCoef: 0.001 } },
      entropyLossFn: { name: 'default', args: { entropyCoef: 0 } },
      lossAggMode: 'token-mean',
    });
    expect(stage.model).toMatchObject({
      modelPath: `${cwd}/tiny`,
      isLocal: true,
      maxModelLen: 384,
      maxPromptTokens: 256,
      maxResponseTokens: 128,
    });
    expect(stage.buffer).toMatchObject({
      batchSize: 8,
      trainBatchSize: 64,
      totalEpochs: 1,
      totalSteps: undefined,
    });
    expect(stage.buffer.explorerInput.tasksets).toMatchObject([
      {
        name: 'sums',
        path: `${cwd}/tasks.jsonl`,
        workflow: 'react_workflow',
        repeatTimes: 4,
        format: { promptKey: 'question', responseKey: 'answer', messagesKey: 'message' },
        rolloutArgs: { temperature: 0.7, topP: 1, topK: -1, logprobs: 0, maxTokens: 128, n: 1 },
        dataSelector: { selectorType: 'shuffle', seed: undefined },
      },
    ]);
    expect(stage.buffer.trainerInput.experienceBuffer).toMatchObject({
      storageType: 'queue',
      storage: 'sqlite',
      path: `${stage.jobDirectory}/buffer/sums_buffer.db`,
    });
    expect(stage.explorer).toMatchObject({
      concurrency: 32,
      maxTimeoutMs: 1_800_000,
      maxRetryTimes: 2,
      evalInterval: 50,
      rolloutModel: {
        toolCallParser: 'hermes',
        reasoningParser: 'deepseek_r1',
        enableThinking: true,
        maxModelLen: 384,
      },
    });
    expect(stage.synchronizer).toMatchObject({
      syncMethod: 'memory',
      syncStyle: 'explorer_driven',
      syncInterval: 2,
      syncOffset: 0,
    });
    expect(stage.trainer.saveInterval).toBe(100);
    expect(stage.monitor.sinks).toEqual(['tensorboard']);
  });

  it('gives the same result every time, and writes nothing', () => {
    const before = readdirSync(cwd).toSorted();
    const read = () => ({ ...parse(cwd, agent, { env }), problemAt: undefined });
    expect(read()).toEqual(read());
    expect(readdirSync(cwd).toSorted()).toEqual(before);
  });
});

describe('aliases and other spellings', () => {
  it.each([
    ['sync_method: online', { syncMethod: 'memory' }],
    ['sync_method: OFFLINE', { syncMethod: 'checkpoint' }],
    ['sync_method: Checkpoint', { syncMethod: 'checkpoint' }],
    ['sync_style: dynamic_by_explorer', { syncStyle: 'explorer_driven' }],
    ['sync_style: Explorer_Driven', { syncStyle: 'explorer_driven' }],
    ['sync_style: dynamic_by_trainer', { syncStyle: 'trainer_driven' }],
    ['trainer_sync_interval: 3', { explorerSyncInterval: 1, trainerSyncInterval: 3 }],
  ])('reads %s', (line, expected) => {
    expect(stageOf(cwd, yaml({ rest: `synchronizer:\n  ${line}` })).synchronizer).toMatchObject(
      expected,
    );
  });

  it.each(['yes', 'on', '"true"', 'True', '1'])('reads %s as true', (word) => {
    expect(
      stageOf(cwd, yaml({ rest: `explorer:\n  bench_on_latest_checkpoint: ${word}` })).explorer
        .benchOnLatestCheckpoint,
    ).toBe(true);
  });

  it.each([
    ['1e-6', 1e-6],
    ['"5e-5"', 5e-5],
    ['1', 1],
  ])('reads the learning rate %s', (text, lr) => {
    expect(
      stageOf(
        cwd,
        yaml({ algorithm: `algorithm:\n  algorithm_type: grpo\n  optimizer: {lr: ${text}}` }),
      ).algorithm.optimizer.lr,
    ).toBe(lr);
  });

  it('reads warmup and multi_step_grpo as the original does', () => {
    const stage = stageOf(
      cwd,
      yaml({
        algorithm: 'algorithm:\n  algorithm_type: MULTI_STEP_GRPO\n  sample_strategy: warmup',
      }),
    );
    expect(stage.algorithm).toMatchObject({
      algorithmType: 'multi_step_grpo',
      sampleStrategy: { name: 'default' },
      repeatTimes: 8,
      advantageFn: { name: 'step_wise_grpo' },
    });
  });

  it('reads warmup_style as lr_scheduler_type, with a warning', () => {
    const loaded = parse(
      cwd,
      yaml({
        algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer: {warmup_style: cosine}',
      }),
    );
    expect(loaded.config.stages[0].algorithm.optimizer.lrSchedulerType).toBe('cosine');
    expect(loaded.warnings).toEqual([
      'run.yaml:3:15 algorithm.optimizer.warmup_style: "warmup_style" is an old name; it is read as "lr_scheduler_type".',
    ]);
  });

  it.each([
    ['explorer: { runner_num: 2, runner_per_model: 3 }', 'runner_num'],
    [
      'trainer: { trainer_config: { critic: { optim: { warmup_style: cosine, lr_scheduler_type: constant } } } }',
      'warmup_style',
    ],
  ])('refuses an old name beside the new one: %s', (rest, old) => {
    expect(problems(cwd, yaml({ rest })).map(({ message }) => message)).toEqual([
      expect.stringContaining(`"${old}" is another name of`),
    ]);
  });

  it.each([
    ['', 'constant', 'warmup_style: '],
    ['"warmup_style" is an old name', 'cosine', 'lr_scheduler_type: cosine, warmup_style: cosine'],
    ['"warmup_style" is an old name', 'cosine', 'warmup_style: cosine, lr_scheduler_type: cosine'],
  ])('reads an old name without a value, or with that of the new one: %s', (said, value, given) => {
    const algorithm = `algorithm:\n  algorithm_type: grpo\n  optimizer: {${given}}`;
    const { config, warnings } = parse(cwd, yaml({ algorithm }));
    expect(config.stages[0].algorithm.optimizer.lrSchedulerType).toBe(value);
    expect(warnings).toHaveLength(said === '' ? 0 : 1);
    expect(warnings.join()).toContain(said);
  });

  it.each(['{ runner_num: , runner_per_model: 3 }', '{ runner_per_model: , runner_num: 3 }'])(
    'takes no notice of a name without a value: %s',
    (explorer) => {
      const stage = stageOf(cwd, yaml({ rest: `explorer: ${explorer}` }));
      expect(stage.explorer.concurrency).toBe(3 * stage.algorithm.repeatTimes);
    },
  );

  it('takes empty lists under their names for one item', () => {
    const buffer =
      'buffer:\n  explorer_input:\n    eval_taskset:\n    taskset: {path: tasks.jsonl, default_workflow_type: w}';
    const stage = stageOf(cwd, yaml({ buffer, rest: 'monitor:\n  monitor_type:' }));
    expect(stage.buffer.explorerInput.evalTasksets).toEqual([]);
    expect(stage.monitor.sinks).toEqual(['tensorboard']);
  });

  it('reads colocate as both', () => {
    const loaded = parse(cwd, yaml({ top: 'mode: colocate' }));
    expect(loaded.config.stages[0].mode).toBe('both');
    expect(loaded.warnings).toHaveLength(1);
  });

  it('takes several monitors, of which the console and the metrics file always exist', () => {
    expect(
      stageOf(cwd, yaml({ rest: 'monitor:\n  monitor_type: [console, jsonl, tensorboard]' }))
        .monitor.sinks,
    ).toEqual(['tensorboard']);
    expect(stageOf(cwd, yaml({ rest: 'monitor:\n  monitor_type: jsonl' })).monitor.sinks).toEqual(
      [],
    );
  });

  it('takes the arguments of one monitor as they are, and those of several by name', () => {
    const { config, warnings } = parse(
      cwd,
      yaml({
        rest: 'monitor:\n  monitor_type: wandb\n  monitor_args: {base_url: http://host, api_key: abc, colour: red}',
      }),
    );
    const [{ monitor }] = config.stages;
    expect(monitor.args).toEqual({ wandb: { base_url: 'http://host', api_key: 'abc' } });
    expect(warnings.join('\n')).toMatch(/WANDB_API_KEY[^]*colour: ignored\. wandb takes base_url/);
    const several =
      'monitor:\n  monitor_type: [mlflow, swanlab]\n  monitor_args: {mlflow: {uri: http://host}, swanlab: {tags: [a]}}';
    expect(stageOf(cwd, yaml({ rest: several })).monitor.args).toEqual({
      mlflow: { uri: 'http://host' },
      swanlab: { tags: ['a'] },
    });
  });

  it('takes an empty section for one that is not there', () => {
    expect(
      stageOf(cwd, yaml({ rest: 'explorer:\nsynchronizer:\nstages:\n' })).synchronizer.syncInterval,
    ).toBe(1);
  });

  it('lets a task set and an evaluation set have one name', () => {
    const text = yaml({
      buffer:
        'buffer:\n  explorer_input:\n    default_workflow_type: w\n    taskset: {name: lake, path: ./tasks.jsonl}\n    eval_tasksets: [{name: lake, path: ./tasks.jsonl}]',
    });
    expect(stageOf(cwd, text).buffer.explorerInput.evalTasksets[0]?.name).toBe('lake');
  });

  it('knows which task sets name a reward function themselves', () => {
    const text = yaml({
      buffer:
        'buffer:\n  explorer_input:\n    default_workflow_type: w\n    default_reward_fn_type: r\n    taskset: {path: ./tasks.jsonl, default_reward_fn_type: r}\n    eval_tasksets: [{path: ./tasks.jsonl}]',
    });
    const { tasksets, evalTasksets } = stageOf(cwd, text).buffer.explorerInput;
    expect([...tasksets, ...evalTasksets]).toMatchObject([
      { rewardFn: 'r', namesRewardFn: true },
      { rewardFn: 'r', namesRewardFn: false },
    ]);
  });

  it('follows anchors and merge keys', () => {
    const text = yaml({
      buffer:
        'buffer:\n  explorer_input:\n    taskset: &set {path: ./tasks.jsonl, default_workflow_type: w, split: train}\n    eval_tasksets:\n      - {<<: *set, split: test, repeat_times: 4}',
    });
    const { tasksets, evalTasksets } = stageOf(cwd, text).buffer.explorerInput;
    expect(tasksets).toMatchObject([{ name: 'taskset_0', split: 'train', isEval: false }]);
    expect(evalTasksets).toMatchObject([
      {
        name: 'eval_taskset_0',
        split: 'test',
        isEval: true,
        repeatTimes: 4,
        path: `${cwd}/tasks.jsonl`,
      },
    ]);
  });
});

describe('a trainer and an explorer of the original, in files of their own', () => {
  /** A trainer of Trinity-RFT, whose file has no batch_size, because trainers do not plan tasks. */
  const trainer = `mode: train\n${agent}`
    .replace('  batch_size: 8\n', '')
    .replace('use_dynamic_bsz: true', 'ppo_max_token_len_per_gpu: 16384');

  it('have the same explore steps', () => {
    const explorer = stageOf(cwd, `mode: explore\n${agent}`, { env });
    const { buffer, part } = stageOf(cwd, trainer, { env });
    expect(part).toBe('train');
    expect([buffer.batchSize, buffer.trainBatch.perExploreStep]).toEqual([16, 64]);
    expect(explorer.buffer.batchSize).toBe(8);
    const { warnings } = parse(cwd, trainer, { env });
    expect(warnings.join('\n')).toContain('train_batch_size: is 64, and batch_size is not set');
    expect(warnings.join('\n')).toContain('"ppo_max_token_len_per_gpu" is an old name');
  });
});
