/** The sections synchronizer, monitor, log, cluster, service, data_processor and cod. */
import type { LogLevel } from '@trinity-rft/core';
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import { z } from 'zod';
import { experienceBuffer, taskset } from './buffer.js';
import {
  as,
  converted,
  derived,
  field,
  filledIn,
  ignored,
  listOf,
  maybe,
  milliseconds,
  notSupported,
  section,
} from './fields.js';
import { unsupportedNames } from './known-names.js';
import { dict, flag, float, int, oneOf, text } from './scalars.js';

const noEffect = 'It has no effect in Trinity-RFT either.';

export const synchronizer = section(
  {
    sync_method: field(
      oneOf(['memory', 'checkpoint', 'nccl'], { online: 'nccl', offline: 'checkpoint' }),
      'memory',
      'How weights move. memory: inside the process, and through the store that explorers and trainer share when they are apart; checkpoint: through a folder below the run.',
      ignored('Weights move as with memory.', {
        values: ['nccl'],
      }),
      converted((method: 'memory' | 'checkpoint' | 'nccl') =>
        method === 'checkpoint' ? method : 'memory',
      ),
    ),
    sync_style: field(
      oneOf(['fixed', 'explorer_driven', 'trainer_driven', 'fully_async'], {
        dynamic_by_explorer: 'explorer_driven',
        dynamic_by_trainer: 'trainer_driven',
      }),
      'fixed',
      'Who decides when weights move.',
    ),
    sync_interval: field(
      int({ min: 1 }),
      1,
      'Explore steps between weight updates; where the trainer decides, train steps.',
    ),
    explorer_sync_interval: maybe(
      int({ min: 1 }),
      'Explore steps after which the explorer takes new weights. Default: sync_interval.',
    ),
    trainer_sync_interval: maybe(
      int({ min: 1 }),
      'Train steps after which the trainer publishes, with trainer_driven and fully_async. Default: sync_interval.',
    ),
    max_staleness: maybe(
      int({ min: 0 }),
      'Explore step s begins only once the weights that sample it have used up every explore step up to s - 1 - max_staleness. Default: with fixed sync_interval + sync_offset - 1, else no bound. Not in Trinity-RFT.',
    ),
    sync_offset: field(int({ min: 0 }), 0, 'Explore steps before the first weight update is due.'),
    sync_timeout: field(
      float({ above: 0 }),
      3600,
      'Seconds that one side waits for the other before it reports it.',
      as('syncTimeoutMs', milliseconds),
    ),
    group_name: field(text(), '', 'nccl only.', ignored('It tunes NCCL.')),
    wait_for_checkpoint: field(
      flag(),
      false,
      'Has no effect in Trinity-RFT either.',
      ignored(noEffect),
    ),
    explorer_world_size: filledIn(),
    ray_namespace: filledIn(),
  },
  'How new weights reach the explorer.',
);

const sinkNames = ['tensorboard', 'wandb', 'mlflow', 'swanlab'] as const;
export type SinkName = (typeof sinkNames)[number];

const monitorType = oneOf(['tensorboard', 'jsonl', 'console', 'wandb', 'mlflow', 'swanlab']);

export const monitor = section(
  {
    monitor_type: field(
      z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(monitorType)),
      ['tensorboard'],
      'Where metrics go besides the console and metrics.jsonl; one name or a list.',
      as('sinks', (names: readonly string[]): readonly SinkName[] =>
        sinkNames.filter((name) => names.includes(name)),
      ),
    ),
    monitor_args: maybe(
      dict(),
      'Arguments of the service that monitor_type names: base_url, api_key, entity, group and tags of wandb; uri, username and password of mlflow; api_host, api_key, workspace, group, description and tags of swanlab. With several services, by their names. Keys belong into the environment: WANDB_API_KEY, MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD (or MLFLOW_TRACKING_TOKEN), SWANLAB_API_KEY.',
      derived,
    ),
    detailed_stats: field(
      flag(),
      false,
      'Evaluation also reports mean, max, min and std over tasks.',
    ),
    enable_ray_timeline: field(flag(), false, 'Ray only.', ignored('There is no Ray.')),
    shared_run: field(
      flag(),
      true,
      'Explorer and trainer are one run of the service; false: NAME_explorer and NAME_trainer.',
    ),
    cache_dir: filledIn(),
  },
  'Where metrics go.',
);

const logLevels = {
  DEBUG: 'debug',
  INFO: 'info',
  WARNING: 'warn',
  ERROR: 'error',
} as const satisfies Record<string, LogLevel>;

export const log = section(
  {
    level: field(
      oneOf(['DEBUG', 'INFO', 'WARNING', 'ERROR'], { warn: 'WARNING', critical: 'ERROR' }),
      'INFO',
      'What is logged. Of equal failures of runs, the first, second, fourth, eighth ... are warnings, and the others INFO.',
      converted((level: keyof typeof logLevels): LogLevel => logLevels[level]),
    ),
    group_by_node: field(flag(), false, 'Ray only.', ignored('There is one node.')),
    max_file_mb: field(
      int({ min: 1 }),
      100,
      'Extension. Size at which trinity.log, rollouts.jsonl and samples.jsonl begin anew, in MiB; the text before is kept once, under NAME.1.',
      as('maxFileBytes', (mebibytes: number): number => mebibytes * 2 ** 20),
    ),
    save_dir: filledIn(),
  },
  'The log.',
);

const oneProcess = 'The run is one process on this machine.';

export const cluster = section(
  {
    ray_address: field(text(), 'auto', 'Ray only.', ignored(oneProcess)),
    node_num: field(int({ min: 0 }), 0, 'Ray only.', ignored(oneProcess)),
    gpu_per_node: field(int({ min: 0 }), 0, 'Ray only.', ignored(oneProcess)),
    total_gpu_num: filledIn(),
    rollout_gpu_num: filledIn(),
    auxiliary_model_gpu_num: filledIn(),
    explorer_gpu_num: filledIn(),
    trainer_gpu_num: filledIn(),
    trainer_node_num: filledIn(),
    trainer_gpu_num_per_node: filledIn(),
    explorers: field(
      int({ min: 0, max: 1024 }),
      0,
      'Extension. Explorer processes that run starts on this machine beside one trainer; 0 = one process does both.',
    ),
  },
  'Processes of a run. Other keys are for Ray only.',
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
      ignored('Operators of tasks and experiences run in the process of the run.', {
        except: [null],
      }),
    ),
  },
  'Services that run along with the training.',
);

const keptInBuffer = 'Experiences are kept in the buffer of the run.';

const operatorList = (tables: AlgorithmTables) =>
  listOf(
    z.strictObject({
      name: field(text(), '', 'Registered name.', ...unsupportedNames(tables, 'operators')),
      args: field(dict(), {}, 'Arguments of the operator.'),
    }),
    'Operators in their order.',
  );

const taskOperator = z.strictObject({
  name: field(text(), '', 'Registered name.'),
  args: field(dict(), {}, 'Arguments of the operator.'),
});

/** Schema of `task_pipeline`, also used to resolve its values. */
export const taskPipelineKeys = z.strictObject({
  operators: listOf(taskOperator, 'Operators in their order.', derived),
  num_process: field(
    int({ min: 1 }),
    4,
    'Tasks that an operator works on at once: calls of a model.',
  ),
  config_path: maybe(
    text(),
    'Data-Juicer recipe.',
    notSupported('Copy the items of its `process` to operators, as { name, args }.', {
      except: [null],
    }),
  ),
  inputs: field(
    z.array(text()),
    [],
    'Files, folders or hub ids whose rows become the task set. Default: each task set goes through the pipeline itself.',
    derived,
  ),
  output: maybe(
    taskset,
    'The tasks that are left.',
    ignored(
      'They are kept with the run, under task_pipeline/, and the task set reads them there.',
      {
        except: [null],
      },
    ),
  ),
  target_fields: field(
    z.array(text()),
    [],
    'Columns with the texts that operators look at. Default: prompt_key and response_key of the task set.',
  ),
  priority_weights: field(
    z.record(z.string(), float()),
    {},
    'Weights of columns with numbers, which order the tasks, highest first; quality and difficulty are the scores of llm_quality_score_filter and llm_difficulty_score_filter. Default, where these operators are: quality 1, difficulty -0.7.',
  ),
  top_k: field(
    int({ min: -1 }),
    -1,
    'Tasks kept, from the first on; -1 = all.',
    converted((count: number) => (count < 0 ? undefined : count)),
  ),
});

const taskPipeline = maybe(
  taskPipelineKeys,
  'Filters, scores and orders the tasks once, before the run; see the guide on tasks.',
  derived,
);

export const dataProcessorSection = (tables: AlgorithmTables) =>
  section(
    {
      task_pipeline: taskPipeline,
      experience_pipeline: section(
        {
          operators: operatorList(tables),
          save_input: field(
            flag(),
            true,
            'Keep the experiences as the workflows returned them.',
            ignored(keptInBuffer),
          ),
          input_save_path: maybe(
            text(),
            'Where they are kept.',
            notSupported(keptInBuffer, { except: [null] }),
          ),
          inputs: field(
            z.record(z.string(), experienceBuffer),
            {},
            'Has no effect in Trinity-RFT either.',
            ignored(noEffect, { except: [null, {}] }),
          ),
          output: maybe(
            experienceBuffer,
            'Has no effect in Trinity-RFT either.',
            ignored(noEffect, { except: [null, {}] }),
          ),
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
  notSupported('Remove it.'),
);
