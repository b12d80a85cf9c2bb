/** The `buffer` section: sources of tasks, and the storage of experiences. */
import { z } from 'zod';
import { generation, rowFormat, rowSelector, taskFormat, taskSelector } from './data.js';
import {
  as,
  derived,
  field,
  filledIn,
  ignored,
  listOf,
  maybe,
  milliseconds,
  notSupported,
  section,
  shorthand,
} from './fields.js';
import { dict, flag, float, int, oneOf, text } from './scalars.js';

const sqlRetries = (reason: string) => ({
  max_retry_times: field(int({ min: 0 }), 3, 'SQL only.', ignored(reason)),
  max_retry_interval: field(int({ min: 0 }), 1, 'SQL only, in seconds.', ignored(reason)),
});

const progressBar = field(flag(), false, 'Python only.', ignored('Progress is always shown.'));

const tasksetShape = {
  name: field(
    text(),
    '',
    'Name in metrics and states. Default: taskset_0, eval_taskset_0, ...',
    derived,
  ),
  storage_type: field(
    oneOf(['file', 'sql', 'generated', 'queue']),
    'file',
    'file: JSON lines, JSON or Parquet, a folder of them, or a data set of the hub. sql: a database. generated, an extension: tasks that the environment of the workflow makes up.',
    notSupported('Use file, or sql for a database.', { values: ['queue'] }),
  ),
  path: maybe(
    text(),
    'File, folder or hub id. sql: sqlite:///file.db, or postgresql://user:password@host/database, which needs the package pg.',
    derived,
  ),
  table: maybe(
    text(),
    'Extension, for sql. Its rows come by their column id. Default: the name of the task set.',
  ),
  query: maybe(text(), 'Extension, for sql: a SELECT instead of a table; it must order its rows.'),
  task_count: maybe(int({ min: 1 }), 'Extension, for generated: how many tasks.'),
  task_seed: field(
    int({ min: 0 }),
    0,
    'Extension, for generated: another seed makes up other tasks.',
  ),
  subset_name: maybe(text(), 'Configuration of the data set on the hub.'),
  split: field(
    text(),
    'train',
    'Part of the data set. generated: train or eval, which have no task in common; an evaluation gets eval unless it says otherwise.',
  ),
  format: taskFormat,
  default_workflow_type: maybe(
    text(),
    'Workflow of rows that name none. Default: that of explorer_input.',
    derived,
  ),
  default_reward_fn_type: maybe(
    text(),
    'Reward function of rows that name none. Default: that of explorer_input.',
    derived,
  ),
  rollout_args: generation,
  workflow_args: field(dict(), {}, 'Passed to the workflow.'),
  reward_fn_args: field(dict(), {}, 'Passed to the reward function.'),
  data_selector: taskSelector,
  ...sqlRetries('It belongs to databases.'),
  enable_progress_bar: progressBar,
  index: filledIn(),
  is_eval: filledIn(),
  batch_size: filledIn(),
  total_epochs: filledIn(),
  total_steps: filledIn(),
  ray_namespace: filledIn(),
};

const repeatTimesText = 'Evaluation only: runs per task.';

/** Schema of an item of `tasksets`: tasks for training. */
export const taskset = z.strictObject({
  ...tasksetShape,
  repeat_times: field(
    int({ min: 1 }),
    1,
    repeatTimesText,
    ignored('algorithm.repeat_times decides for task sets to learn from.'),
  ),
});

/** Schema of an item of `eval_tasksets`. */
export const evalTaskset = z.strictObject({
  ...tasksetShape,
  repeat_times: field(int({ min: 1 }), 1, repeatTimesText, derived),
});

/** Keys of a store that an explorer fills. */
const storeShape = {
  capacity: field(int({ min: 1 }), 10000, 'Explore steps that may wait for the trainer.'),
  max_read_timeout: field(
    float({ above: 0 }),
    1800,
    'Seconds that the trainer waits for a batch before it warns. train beside a server: ends after so long without the server.',
    as('maxReadTimeoutMs', milliseconds),
  ),
  keep_trained_steps: maybe(
    int({ min: 0 }),
    'Extension. Experiences are deleted from the store once they were trained on more than so many train steps ago and no resume can need them. Default: keep all.',
  ),
};

/** Keys of supervised data. */
const rowsShape = {
  split: field(text(), 'train', 'file only.'),
  subset_name: maybe(text(), 'file only.'),
  format: rowFormat,
  data_selector: rowSelector,
};

export const storeKeys = z.strictObject(storeShape);
export const rowsKeys = z.strictObject(rowsShape);

const experienceBufferShape = {
  name: field(text(), 'experience_buffer', 'Name of the buffer, and of its file.'),
  storage_type: maybe(
    oneOf(['queue', 'sql', 'file']),
    'queue: between explorer and trainer; sql: a database to keep; file: supervised data. Default: queue, for supervised algorithms file.',
  ),
  storage: field(
    oneOf(['sqlite', 'memory']),
    'sqlite',
    'Extension, for queue. sqlite survives the process; memory does not, and cannot be resumed.',
  ),
  path: maybe(text(), 'sql: sqlite:///file.db; file: file, folder or hub id.'),
  ...storeShape,
  replay_buffer: section(
    {
      enable: field(
        flag(),
        false,
        'Train by priority, and on experiences again. Of explore steps beyond capacity, those of the lowest priority are dropped.',
      ),
      priority_fn: field(
        oneOf([
          'linear_decay',
          'decay_limit_randomization',
          'linear_decay_use_count_control_randomization',
        ]),
        'linear_decay',
        'What comes first: version of the weights - decay * uses; decay_limit_randomization (its other name is that of the documentation of Trinity-RFT) adds noise and limits the uses.',
      ),
      priority_fn_args: field(
        dict(),
        { decay: 2 },
        'decay, 2; for decay_limit_randomization also use_count_limit, 3 (0 = none), and sigma, 0, the standard deviation of the noise.',
      ),
      reuse_cooldown_time: maybe(
        float({ min: 0 }),
        'Seconds before an experience may be used again. Default: each is used once.',
      ),
    },
    'Training on experiences again.',
  ),
  ...rowsShape,
  enable_progress_bar: progressBar,
  ...sqlRetries('A file on this machine needs no retries.'),
  schema_type: filledIn(),
  index: filledIn(),
  batch_size: filledIn(),
  tokenizer_path: filledIn(),
  total_epochs: filledIn(),
  total_steps: filledIn(),
  ray_namespace: filledIn(),
};

export const experienceBuffer = z.strictObject(experienceBufferShape);

/**
 * Schema of an auxiliary buffer. Unlike for the experience buffer, the file can set `schema_type`.
 */
const auxiliaryBuffer = z.strictObject({
  ...experienceBufferShape,
  schema_type: maybe(
    oneOf(['sft', 'experience']),
    'Answers to imitate, or experiences. Default: experience for sql, else sft.',
  ),
});

export const buffer = section(
  {
    batch_size: field(int({ min: 1 }), 1, 'Tasks per explore step.'),
    train_batch_size: field(
      int({ min: 0 }),
      0,
      'What a train step takes, in train_batch_unit. Default: all that is left of one explore step.',
      derived,
    ),
    train_batch_unit: maybe(
      oneOf(['runs', 'tasks', 'experiences']),
      'What train_batch_size counts. runs and tasks are never split, and a batch ends with its explore step. experiences: model calls, as in Trinity-RFT; a batch is filled from as many explore steps as it takes. Default: runs in mode both, else experiences.',
      derived,
    ),
    total_epochs: field(
      int({ min: 1 }),
      1,
      'Passes over the tasks; in mode train over the rows, or the stored experiences.',
    ),
    total_steps: maybe(int({ min: 1 }), 'Steps; wins over total_epochs.'),
    explorer_input: section(
      {
        taskset: maybe(taskset, 'The task set to learn from; short for a list of one.', shorthand),
        tasksets: listOf(taskset, 'The task sets to learn from.'),
        eval_tasksets: listOf(evalTaskset, 'The task sets to evaluate on.'),
        default_workflow_type: maybe(text(), 'Workflow of task sets that name none.'),
        default_eval_workflow_type: maybe(
          text(),
          'The same for evaluation. Default: default_workflow_type.',
        ),
        default_reward_fn_type: maybe(text(), 'Reward function of task sets that name none.'),
      },
      'Where tasks come from.',
      derived,
    ),
    trainer_input: section(
      {
        experience_buffer: experienceBuffer.prefault({}).describe('Where the trainer reads.'),
        auxiliary_buffers: field(
          z.record(z.string(), auxiliaryBuffer),
          {},
          'Further buffers, by name: experts to imitate, for sample_strategy mix.',
        ),
      },
      'Where the trainer reads.',
      derived,
    ),
    explorer_output: filledIn(),
    tokenizer_path: filledIn(),
    cache_dir: filledIn(),
  },
  'Tasks and experiences.',
);
