/** The `trainer` section, with the critic at the path that verl uses. */
import { z } from 'zod';
import { optimizerValues } from './algorithm.js';
import { trainerType, type EngineFactsTable } from './engines.js';
import {
  alike,
  converted,
  derived,
  field,
  filledIn,
  ignored,
  kept,
  maybe,
  notSupported,
  section,
  zeroIsNone,
  type StatusOptions,
} from './fields.js';
import { dict, flag, float, int, oneOf, text, word } from './scalars.js';

const tunesVerl = 'It tunes verl.';
const verlFlag = (value: boolean) => field(flag(), value, 'verl only.', ignored(tunesVerl));

const megatron = section(
  {
    tensor_model_parallel_size: field(int({ min: 1 }), 1, 'Megatron only.'),
    pipeline_model_parallel_size: field(int({ min: 1 }), 1, 'Megatron only.'),
    virtual_pipeline_model_parallel_size: maybe(int({ min: 1 }), 'Megatron only.'),
    expert_model_parallel_size: field(int({ min: 1 }), 1, 'Megatron only.'),
    expert_tensor_parallel_size: maybe(int({ min: 1 }), 'Megatron only.'),
    context_parallel_size: field(int({ min: 1 }), 1, 'Megatron only.'),
    sequence_parallel: field(flag(), true, 'Megatron only.'),
  },
  'Megatron only.',
  ignored(tunesVerl),
);

const asPolicy = (key: string): string => `Default: algorithm.optimizer.${key}.`;

/**
 * Schema of the critic's optimizer. Keys that are not set have the values of `algorithm.optimizer`.
 * If a ratio of warm-up steps is set, the policy's number of warm-up steps does not apply.
 */
export const criticOptimizer = section(
  {
    lr: maybe(optimizerValues.lr, asPolicy('lr')),
    lr_warmup_steps: maybe(optimizerValues.lr_warmup_steps, asPolicy('lr_warmup_steps'), derived),
    lr_warmup_steps_ratio: maybe(
      optimizerValues.lr_warmup_steps_ratio,
      asPolicy('lr_warmup_steps_ratio'),
    ),
    min_lr_ratio: maybe(optimizerValues.min_lr_ratio, asPolicy('min_lr_ratio')),
    lr_scheduler_type: maybe(optimizerValues.lr_scheduler_type, asPolicy('lr_scheduler_type')),
    betas: maybe(optimizerValues.betas, asPolicy('betas')),
    weight_decay: maybe(optimizerValues.weight_decay, asPolicy('weight_decay')),
    clip_grad: maybe(optimizerValues.clip_grad, asPolicy('clip_grad'), derived),
    ...alike(
      [
        'optimizer',
        'optimizer_impl',
        'total_training_steps',
        'lr_warmup_init',
        'lr_decay_steps',
        'lr_decay_style',
        'min_lr',
        'weight_decay_incr_style',
        'lr_wsd_decay_style',
        'lr_wsd_decay_steps',
        'use_checkpoint_opt_param_scheduler',
        'override_optimizer_config',
      ],
      filledIn,
    ),
  },
  'How the weights of the critic follow gradients.',
  derived,
);

export const critic = section(
  {
    optim: criticOptimizer,
    cliprange_value: field(
      float({ min: 0 }),
      0.5,
      'Value predictions are clipped to within this distance of the old value, from which no update has moved them yet. 0 scales the gradient by 0.625, as in Trinity-RFT.',
      ignored(
        'Every batch is trained on once, so no value has moved from the old one. Only 0 differs.',
        { except: [0, 0.5] },
      ),
      kept,
    ),
    grad_clip: maybe(
      float({ min: 0 }),
      'Largest global gradient norm of the critic; 0 = no clipping. Default: as of the policy.',
      derived,
    ),
    ppo_epochs: field(
      int({ min: 1 }),
      1,
      'Times that a batch is trained on.',
      notSupported('The critic, too, is trained on every batch once; remove it.'),
    ),
    ppo_mini_batch_size: field(
      int({ min: 0 }),
      0,
      'Experiences per update; 0 = the whole batch.',
      notSupported('A train step is one update of the whole batch; remove it.'),
    ),
    enable: field(flag(), false, 'verl only; the algorithm decides.', ignored(tunesVerl)),
    loss_agg_mode: field(text(), 'token-mean', 'verl only.', ignored(tunesVerl)),
    ...alike(
      [
        'strategy',
        'model',
        'ppo_micro_batch_size',
        'ppo_micro_batch_size_per_gpu',
        'forward_micro_batch_size',
        'forward_micro_batch_size_per_gpu',
        'use_dynamic_bsz',
        'ppo_max_token_len_per_gpu',
        'forward_max_token_len_per_gpu',
        'ulysses_sequence_parallel_size',
        'shuffle',
        'checkpoint',
        'megatron',
        'profile',
        'profiler',
        'data_loader_seed',
        'load_weight',
      ],
      () => maybe(z.unknown(), 'verl only.', ignored(tunesVerl)),
    ),
    rollout_n: filledIn(),
    nccl_timeout: filledIn(),
    ray_namespace: filledIn(),
  },
  'The critic of algorithms that have one.',
);

const unset = [undefined, null, {}];
const insteadOfVerl = 'It tunes verl; algorithm.optimizer, trainer.grad_clip and the like decide.';

/**
 * Creates a free-form section with settings of verl, which are ignored with a warning. `inside`
 * lists keys that are reported as not supported.
 */
const verlSection = (
  inside: readonly (readonly [key: string, note: string, except?: StatusOptions['except']])[] = [],
) =>
  maybe(
    dict(),
    'verl only.',
    ignored(insteadOfVerl, { except: unset }),
    ...inside.map(([key, note, except = [undefined, null]]) =>
      notSupported(note, { inside: key, except }),
    ),
  );

/** The configuration of verl. Only its critic has an effect. */
const trainerConfig = section(
  {
    critic,
    actor_rollout_ref: verlSection([
      ['actor.ppo_epochs', 'Every batch is trained on once; remove it.', [undefined, null, 1]],
      [
        'actor.ppo_mini_batch_size',
        'A train step is one update of the whole batch; set buffer.train_batch_size and remove it.',
      ],
      ['actor.optim', 'Set algorithm.optimizer instead, as in "lr: 1e-6".', unset],
      ['actor.grad_clip', 'Set trainer.grad_clip instead.'],
    ]),
    ...alike(
      [
        'algorithm',
        'buffer',
        'custom_reward_function',
        'data',
        'global_profiler',
        'reward_model',
        'trainer',
      ],
      verlSection,
    ),
    synchronizer: filledIn(),
    enable_preview: filledIn(),
  },
  'The critic, under its name in verl; the rest tunes verl.',
  derived,
);

const trainerShape = {
  name: field(
    word(),
    'trainer',
    'Name in logs and states.',
    ignored('There is one trainer.'),
    kept,
  ),
  trainer_strategy: field(
    oneOf(['fsdp', 'fsdp2', 'megatron']),
    'fsdp',
    'verl only.',
    ignored(tunesVerl),
  ),
  save_interval: field(
    int({ min: 0 }),
    0,
    'Train steps between checkpoints; 0 = only at the end.',
    converted(zeroIsNone),
  ),
  enable_preview: field(flag(), true, 'Log the best and the worst rollout of each batch.'),
  total_steps: maybe(int({ min: 1 }), 'Train steps. Default: until the data ends.'),
  save_hf_checkpoint: field(
    oneOf(['last', 'always', 'never']),
    'last',
    'With an adapter: the checkpoints that hold the whole model too, with the adapter merged in. Without one, all do.',
  ),
  grad_clip: field(float({ min: 0 }), 1, 'Largest global gradient norm; 0 = no clipping.', derived),
  use_dynamic_bsz: verlFlag(true),
  use_remove_padding: verlFlag(true),
  balance_batch: verlFlag(true),
  critic_warmup: field(
    int({ min: 0 }),
    0,
    'Train steps before this one update the critic only, as in Trinity-RFT; algorithms with a critic only.',
    derived,
  ),
  max_token_len_per_gpu: maybe(int({ min: 1 }), 'verl only.', ignored(tunesVerl)),
  ulysses_sequence_parallel_size: field(int(), 1, 'verl only.', ignored(tunesVerl)),
  fix_actor_microbatch_loss_scale: field(
    flag(),
    false,
    'verl only; losses are always scaled over the whole batch here.',
    ignored('Losses are always scaled over the whole batch.'),
  ),
  param_offload: verlFlag(false),
  optimizer_offload: verlFlag(false),
  grad_offload: verlFlag(false),
  offload_policy: verlFlag(false),
  save_strategy: field(
    oneOf(['single_thread', 'single_process', 'single_node', 'unrestricted']),
    'unrestricted',
    'verl only.',
    ignored(tunesVerl),
  ),
  max_checkpoints_to_keep: maybe(
    int({ min: 0 }),
    'Older ones are removed; 0 or nothing = keep all.',
    converted(zeroIsNone),
  ),
  megatron,
  trust_remote_code: filledIn(),
  trainer_config: trainerConfig,
  trainer_config_path: field(
    text(),
    '',
    'Removed; Trinity-RFT no longer accepts it either.',
    notSupported('Remove it, and set algorithm.optimizer, trainer.grad_clip and the like.'),
  ),
};

export const trainerSection = (engines: EngineFactsTable) =>
  section({ trainer_type: trainerType(engines), ...trainerShape }, 'What learns.');
