/** Describes the effects of changed settings on a training run that has begun. */
import type { Mode } from '@trinity-rft/config';

export interface Effect {
  /** Consequence of the change, shown after the setting and its old and new value. */
  readonly text: string;
  /**
   * True if the change is refused, because the training run would become a mix of two different
   * training runs.
   */
  readonly refused: boolean;
}

interface Rule {
  /** Keys or sections without list indices; the longest match applies. */
  readonly keys: readonly string[];
  readonly effect: Effect;
  /** Modes in which the rule applies. @default all modes */
  readonly modes?: readonly Mode[];
}

const refused = (because: string): Effect => ({ text: because, refused: true });
const said = (text: string): Effect => ({ text, refused: false });

const tasksets = 'buffer.explorer_input.tasksets';
const experienceBuffer = 'buffer.trainer_input.experience_buffer';

const usual = said('takes effect from here on; what has been done stays as it is');
const whenExplored = said(
  'takes effect in part: from the next explore step on; experiences that are stored stay as they are',
);
const newLength = said(
  'takes effect from here on; a learning rate that follows the length of the run follows the new one',
);

const rules: readonly Rule[] = [
  {
    keys: ['stage_name'],
    effect: refused('stages that have begun keep their names and their order'),
  },
  {
    keys: ['seed', `${tasksets}.data_selector`],
    effect: refused('the order of the tasks follows from it'),
    modes: ['both', 'train'],
  },
  {
    keys: [
      tasksets,
      ...['name', 'path', 'split', 'subset_name'].map((key) => `${tasksets}.${key}`),
    ],
    effect: refused('the position in the tasks would be one in other tasks'),
    modes: ['both'],
  },
  {
    keys: ['model.model_path', 'model.lora_configs', 'model.quantization'],
    effect: refused('the weights of the checkpoints come from the old one'),
  },
  {
    keys: ['trainer.trainer_type'],
    effect: refused('the checkpoints are those of the old engine'),
  },
  {
    keys: ['algorithm.algorithm_type'],
    effect: refused('stored experiences and checkpoints are those of the old algorithm'),
  },
  {
    keys: ['algorithm.repeat_times', 'buffer.batch_size'],
    effect: refused('the position of the run is counted in steps of the old size'),
    modes: ['both'],
  },
  {
    keys: ['buffer.train_batch_size', 'buffer.train_batch_unit', 'algorithm.sample_strategy'],
    effect: refused('the position of the run is counted in steps of the old size'),
    modes: ['both', 'train'],
  },
  {
    keys: [
      ...['path', 'split', 'subset_name', 'data_selector', 'storage', 'storage_type'].map(
        (key) => `${experienceBuffer}.${key}`,
      ),
      'buffer.trainer_input.experts',
      'buffer.trainer_input.auxiliary_buffers',
    ],
    effect: refused('the position of the run is one in the old data'),
  },
  {
    keys: ['sync_style', 'sync_interval', 'explorer_sync_interval', 'sync_offset'].map(
      (key) => `synchronizer.${key}`,
    ),
    effect: refused('the weights that each explore step uses follow from it'),
    modes: ['both'],
  },
  {
    keys: ['model.device'],
    effect: said('takes effect from here on; the last digits of all numbers change'),
  },
  { keys: ['buffer.total_steps', 'buffer.total_epochs', 'trainer.total_steps'], effect: newLength },
  {
    keys: [
      'model.max_model_len',
      'model.max_prompt_tokens',
      'model.max_response_tokens',
      'model.min_response_tokens',
      'model.chat_template',
      'model.temperature',
      'model.top_p',
      'model.top_k',
      'algorithm.advantage_fn',
      'algorithm.advantage_fn_args',
      'data_processor',
      `${tasksets}.format`,
      `${tasksets}.default_workflow_type`,
      `${tasksets}.default_reward_fn_type`,
      `${tasksets}.workflow_args`,
      `${tasksets}.reward_fn_args`,
      `${tasksets}.rollout_args`,
      'explorer.rollout_model',
      'explorer.auxiliary_models',
    ],
    effect: whenExplored,
  },
  {
    keys: ['data_processor.task_pipeline'],
    effect: said('takes no effect: the tasks were made when the run began'),
  },
  {
    keys: ['algorithm.kl_penalty_fn', 'algorithm.kl_penalty_fn_args'],
    effect: said(
      'takes effect in part: from here on, but an adaptive coefficient continues from its checkpoint',
    ),
  },
  {
    keys: ['lr_scheduler_type', 'lr_warmup_steps', 'lr_warmup_steps_ratio', 'min_lr_ratio'].map(
      (key) => `algorithm.optimizer.${key}`,
    ),
    effect: said(
      'takes effect in part: steps that are done keep their rates, the next ones are at their place in the new schedule',
    ),
  },
  {
    keys: ['buffer.explorer_input.eval_tasksets', 'explorer.eval_interval'],
    effect: said('takes effect from the next evaluation on'),
  },
  {
    keys: ['model.critic_model_path'],
    effect: said('takes no effect: the critic continues from its checkpoint'),
  },
];

/** Returns the effect of changing the setting `key`. */
export function effectOf(key: string, mode: Mode): Effect {
  const plain = key.replaceAll(/\[\d+\]/g, '');
  const fitting = rules
    .filter(({ modes }) => modes?.includes(mode) ?? true)
    .flatMap(({ keys, effect }) => keys.map((known) => ({ known, effect })))
    .filter(({ known }) => plain === known || plain.startsWith(`${known}.`))
    .toSorted((a, b) => b.known.length - a.known.length);
  return fitting[0]?.effect ?? usual;
}
