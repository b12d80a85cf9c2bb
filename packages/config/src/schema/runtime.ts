/**
 * The sections about how a run proceeds: explorer, synchronizer, monitor, log, cluster, services,
 * data processing.
 */
import { z } from 'zod';
import { experienceBuffer, taskset } from './buffer.js';
import { auxiliaryModelShape, inferenceModelShape } from './model.js';
import {
  dict,
  field,
  filledIn,
  flag,
  float,
  int,
  listOf,
  maybe,
  oneOf,
  section,
  text,
  word,
} from './scalars.js';

export const explorer = section(
  {
    name: field(word(), 'explorer', 'Name in logs and states.'),
    runner_per_model: maybe(
      int({ min: 1 }),
      'Tasks in progress at once, each with all its runs. Default: all of a step.',
    ),
    runner_prepare_concurrency: field(int({ min: 1 }), 128, 'Ray only.'),
    runner_prepare_max_retries: field(int({ min: 0 }), 3, 'Ray only.'),
    max_timeout: field(float({ above: 0 }), 1800, 'Seconds for one attempt of one run.'),
    max_retry_times: field(int({ min: 0 }), 2, 'Further attempts of a failed run.'),
    failure_reward: maybe(
      float(),
      'Reward of a run whose agent fails after it has called the model. Unset: failed runs are not trained on.',
    ),
    experience_shape: field(
      oneOf(['step', 'trajectory']),
      'step',
      'step: one experience per model call. trajectory: calls that continue each other token by token are one.',
    ),
    reasoning_history: field(
      oneOf(['as-sent', 'restore']),
      'as-sent',
      'restore: put reasoning back that the agent left out of earlier answers. as-sent: train on what it sends.',
    ),
    constrained_decoding: field(
      flag(),
      false,
      'Draw only tokens that keep to the answer format and the forced calls that an agent asks for. false: the model is told, and samples freely.',
    ),
    env_vars: field(dict(), {}, 'Environment of the workflows.'),
    concurrent_mode: field(
      oneOf(['sequential', 'asynchronous', 'multi-threading']),
      'sequential',
      'How the runs of one task share a runner.',
    ),
    max_repeat_times_per_runner: maybe(int({ min: 1 }), 'Runs of one task per runner.'),
    runner_num: maybe(int({ min: 1 }), 'Old form of runner_per_model.'),
    rollout_model: section(inferenceModelShape, 'How the trained model samples and speaks.'),
    auxiliary_models: listOf(
      z
        .strictObject(auxiliaryModelShape)
        .describe(
          'A model for workflows that is not trained. What is not set is as for the trained model.',
        ),
      'Further models for workflows: judges, teachers.',
    ),
    eval_interval: field(int({ min: 0 }), 100, 'Explore steps between evaluations; 0 = never.'),
    eval_on_startup: field(flag(), true, 'Evaluate before the first step.'),
    bench_on_latest_checkpoint: field(flag(), false, 'bench: only the newest checkpoint.'),
    proxy_port: field(int({ min: 0, max: 65535 }), 8010, 'serve: port; 0 = any that is free.'),
    listen_address: field(
      text(),
      '127.0.0.1',
      'serve: address to listen on. Other machines reach only others than the loopback one.',
    ),
    service_status_check_interval: field(
      int({ min: 1 }),
      60,
      'serve: seconds between looks for new weights, where another process trains.',
    ),
    min_running_model_num: field(int({ min: 0 }), 1, 'serve only.'),
    db_url: maybe(text(), 'serve only.'),
    over_rollout: section(
      {
        ratio: field(
          float({ min: 0, below: 1 }),
          0,
          'Wait only for 1 - ratio of the tasks of a step.',
        ),
        wait_after_min: field(float({ min: 0 }), 30, 'Seconds of grace after that.'),
        return_partial_tasks: field(flag(), false, 'Keep the finished runs of unfinished tasks.'),
      },
      'Not waiting for the slowest tasks.',
    ),
    dynamic_timeout: section(
      {
        enable: field(flag(), false, 'Derive the time limit from the time that tasks take.'),
        warmup_min_steps: field(int({ min: 0 }), 1, 'Steps before it applies.'),
        ratio: field(float({ above: 0 }), 3, 'Times the mean.'),
      },
      'A time limit that adapts.',
    ),
    runner_state_report_interval: field(
      int({ min: 0 }),
      0,
      'Seconds between reports of the runners; 0 = never.',
    ),
    max_inflight_batches: field(int({ min: 1 }), 2, 'Newer versions only.'),
    mode: filledIn(),
  },
  'What makes experiences.',
);

export const synchronizer = section(
  {
    sync_method: field(
      oneOf(['memory', 'checkpoint', 'nccl'], { online: 'nccl', offline: 'checkpoint' }),
      'memory',
      'How weights move. nccl means memory: it is one process.',
    ),
    sync_style: field(
      oneOf(['fixed', 'explorer_driven', 'trainer_driven', 'fully_async'], {
        dynamic_by_explorer: 'explorer_driven',
        dynamic_by_trainer: 'trainer_driven',
      }),
      'fixed',
      'Who decides when weights move.',
    ),
    sync_interval: field(int({ min: 1 }), 1, 'Explore steps between weight updates.'),
    explorer_sync_interval: maybe(int({ min: 1 }), 'Newer versions only.'),
    trainer_sync_interval: maybe(int({ min: 1 }), 'Newer versions only.'),
    sync_offset: field(int({ min: 0 }), 0, 'Explore steps before the first weight update is due.'),
    sync_timeout: field(
      float({ above: 0 }),
      3600,
      'Seconds that one side waits for the other before it reports it.',
    ),
    group_name: field(text(), '', 'nccl only.'),
    wait_for_checkpoint: field(flag(), false, 'Has no effect in the original either.'),
    explorer_world_size: filledIn(),
    ray_namespace: filledIn(),
  },
  'How new weights reach the explorer.',
);

const monitorType = oneOf(['tensorboard', 'jsonl', 'console', 'wandb', 'mlflow', 'swanlab']);

export const monitor = section(
  {
    monitor_type: field(
      z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(monitorType)),
      ['tensorboard'],
      'Where metrics go besides the console and metrics.jsonl; one name or a list.',
    ),
    monitor_args: maybe(dict(), 'Arguments of the monitor.'),
    detailed_stats: field(
      flag(),
      false,
      'Evaluation also reports mean, max, min and std over tasks.',
    ),
    enable_ray_timeline: field(flag(), false, 'Ray only.'),
    cache_dir: filledIn(),
  },
  'Where metrics go.',
);

export const log = section(
  {
    level: field(
      oneOf(['DEBUG', 'INFO', 'WARNING', 'ERROR'], { warn: 'WARNING', critical: 'ERROR' }),
      'INFO',
      'What is logged.',
    ),
    group_by_node: field(flag(), false, 'Ray only.'),
    save_dir: filledIn(),
  },
  'The log.',
);

export const cluster = section(
  {
    ray_address: field(text(), 'auto', 'Ray only.'),
    node_num: field(int({ min: 0 }), 0, 'Ray only.'),
    gpu_per_node: field(int({ min: 0 }), 0, 'Ray only.'),
    total_gpu_num: filledIn(),
    rollout_gpu_num: filledIn(),
    auxiliary_model_gpu_num: filledIn(),
    explorer_gpu_num: filledIn(),
    trainer_gpu_num: filledIn(),
    trainer_node_num: filledIn(),
    trainer_gpu_num_per_node: filledIn(),
  },
  'Ray only.',
);

export const service = section(
  {
    data_juicer: maybe(
      z.strictObject({
        server_url: maybe(text(), 'Address of the server.'),
        auto_start: field(flag(), false, 'Start the server.'),
        port: maybe(int({ min: 0, max: 65535 }), 'Port of the server.'),
      }),
      'The Data-Juicer server.',
    ),
  },
  'Services beside the run.',
);

const operators = listOf(
  z.strictObject({
    name: field(text(), '', 'Registered name.'),
    args: field(dict(), {}, 'Arguments of the operator.'),
  }),
  'Operators in their order.',
);

export const dataProcessor = section(
  {
    task_pipeline: maybe(
      z.strictObject({
        operators,
        num_process: field(int({ min: 1 }), 4, 'Processes.'),
        config_path: maybe(text(), 'Data-Juicer recipe.'),
        inputs: field(z.array(text()), [], 'Files.'),
        output: maybe(taskset, 'Task set that is written.'),
        target_fields: field(z.array(text()), [], 'Columns.'),
        priority_weights: field(z.record(z.string(), float()), {}, 'Weights of the scores.'),
        top_k: field(int({ min: -1 }), -1, 'Rows kept; -1 = all.'),
      }),
      'Cleaning tasks before the run.',
    ),
    experience_pipeline: section(
      {
        operators,
        save_input: field(flag(), true, 'Keep the experiences as the workflows returned them.'),
        input_save_path: maybe(text(), 'Where they are kept.'),
        inputs: field(
          z.record(z.string(), experienceBuffer),
          {},
          'Has no effect in the original either.',
        ),
        output: maybe(experienceBuffer, 'Has no effect in the original either.'),
      },
      'From workflow to buffer.',
    ),
  },
  'Operators on tasks and experiences.',
);

export const cod = section(
  {
    task_pack_size: field(int({ min: 1 }), 4, 'Algorithm cod only.'),
    eval_task_pack_size: maybe(int({ min: 1 }), 'Algorithm cod only.'),
    packing_strategy: field(text(), 'cod', 'Algorithm cod only.'),
    cod_workflow_args: field(dict(), {}, 'Algorithm cod only.'),
  },
  'Algorithm cod only.',
);
