/** The `buffer` section: where tasks come from, and where experiences wait. */
import { z } from 'zod';
import { dataSelectorShape, format, generation } from './algorithm.js';
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
} from './scalars.js';

const dataSelector = section(dataSelectorShape, 'The order of the rows.');

const sqlRetries = {
  max_retry_times: field(int({ min: 0 }), 3, 'SQL only.'),
  max_retry_interval: field(int({ min: 0 }), 1, 'SQL only, in seconds.'),
};

export const taskset = z.strictObject({
  name: field(text(), '', 'Name in metrics and states. Default: taskset_0, eval_taskset_0, ...'),
  storage_type: field(
    oneOf(['file', 'sql', 'queue']),
    'file',
    'file: JSON lines, JSON or Parquet, a folder of them, or a data set of the hub.',
  ),
  path: maybe(text(), 'File, folder or hub id.'),
  subset_name: maybe(text(), 'Configuration of the data set on the hub.'),
  split: field(text(), 'train', 'Part of the data set.'),
  format,
  default_workflow_type: maybe(
    text(),
    'Workflow of rows that name none. Default: that of explorer_input.',
  ),
  default_reward_fn_type: maybe(
    text(),
    'Reward function of rows that name none. Default: that of explorer_input.',
  ),
  rollout_args: generation,
  workflow_args: field(dict(), {}, 'Passed to the workflow.'),
  reward_fn_args: field(dict(), {}, 'Passed to the reward function.'),
  data_selector: dataSelector,
  repeat_times: field(int({ min: 1 }), 1, 'Evaluation only: runs per task.'),
  ...sqlRetries,
  enable_progress_bar: field(flag(), false, 'Python only.'),
  index: filledIn(),
  is_eval: filledIn(),
  batch_size: filledIn(),
  total_epochs: filledIn(),
  total_steps: filledIn(),
  ray_namespace: filledIn(),
});

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
  capacity: field(int({ min: 1 }), 10000, 'Explore steps that may wait for the trainer.'),
  max_read_timeout: field(
    float({ above: 0 }),
    1800,
    'Seconds that the trainer waits for a batch before it reports what it waits for.',
  ),
  replay_buffer: section(
    {
      enable: field(flag(), false, 'Train on experiences again, by priority.'),
      priority_fn: field(
        oneOf(['linear_decay', 'decay_limit_randomization']),
        'linear_decay',
        'What comes first.',
      ),
      priority_fn_args: field(dict(), { decay: 2 }, 'Arguments of priority_fn.'),
      reuse_cooldown_time: maybe(
        float({ min: 0 }),
        'Seconds before an experience may be used again.',
      ),
    },
    'Training on experiences again.',
  ),
  split: field(text(), 'train', 'file only.'),
  subset_name: maybe(text(), 'file only.'),
  format,
  enable_progress_bar: field(flag(), false, 'Python only.'),
  data_selector: dataSelector,
  ...sqlRetries,
  schema_type: filledIn(),
  index: filledIn(),
  batch_size: filledIn(),
  tokenizer_path: filledIn(),
  total_epochs: filledIn(),
  total_steps: filledIn(),
  ray_namespace: filledIn(),
};

export const experienceBuffer = z.strictObject(experienceBufferShape);

/** Rows of one schema, unlike the experience buffer, whose schema is that of the algorithm. */
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
      'Experiences per train step. Default: batch_size x repeat_times.',
    ),
    total_epochs: field(int({ min: 1 }), 1, 'Passes over the tasks.'),
    total_steps: maybe(int({ min: 1 }), 'Steps; wins over total_epochs.'),
    explorer_input: section(
      {
        taskset: maybe(taskset, 'The task set to learn from; short for a list of one.'),
        tasksets: listOf(taskset, 'The task sets to learn from.'),
        eval_tasksets: listOf(taskset, 'The task sets to evaluate on.'),
        default_workflow_type: maybe(text(), 'Workflow of task sets that name none.'),
        default_eval_workflow_type: maybe(
          text(),
          'The same for evaluation. Default: default_workflow_type.',
        ),
        default_reward_fn_type: maybe(text(), 'Reward function of task sets that name none.'),
      },
      'Where tasks come from.',
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
    ),
    explorer_output: filledIn(),
    tokenizer_path: filledIn(),
    cache_dir: filledIn(),
  },
  'Tasks and experiences.',
);
