/** The `trainer` section, with the critic under its name in verl. */
import { z } from 'zod';
import { optimizerValues } from './algorithm.js';
import {
  dict,
  field,
  filledIn,
  flag,
  float,
  int,
  maybe,
  oneOf,
  section,
  text,
  word,
} from './scalars.js';

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
);

const free = (description: string) => maybe(dict(), description);

const as = (key: string): string => `Default: algorithm.optimizer.${key}.`;

/** What is not set is as in `algorithm.optimizer`. */
const criticOptimizer = section(
  {
    lr: maybe(optimizerValues.lr, as('lr')),
    lr_warmup_steps: maybe(optimizerValues.lr_warmup_steps, as('lr_warmup_steps')),
    lr_warmup_steps_ratio: maybe(
      optimizerValues.lr_warmup_steps_ratio,
      as('lr_warmup_steps_ratio'),
    ),
    min_lr_ratio: maybe(optimizerValues.min_lr_ratio, as('min_lr_ratio')),
    warmup_style: maybe(optimizerValues.lr_scheduler_type, 'Old name of lr_scheduler_type.'),
    lr_scheduler_type: maybe(optimizerValues.lr_scheduler_type, as('lr_scheduler_type')),
    betas: maybe(optimizerValues.betas, as('betas')),
    weight_decay: maybe(optimizerValues.weight_decay, as('weight_decay')),
    clip_grad: maybe(optimizerValues.clip_grad, as('clip_grad')),
    optimizer: filledIn(),
    optimizer_impl: filledIn(),
    total_training_steps: filledIn(),
    lr_warmup_init: filledIn(),
    lr_decay_steps: filledIn(),
    lr_decay_style: filledIn(),
    min_lr: filledIn(),
    weight_decay_incr_style: filledIn(),
    lr_wsd_decay_style: filledIn(),
    lr_wsd_decay_steps: filledIn(),
    use_checkpoint_opt_param_scheduler: filledIn(),
    override_optimizer_config: filledIn(),
  },
  'How the weights of the critic follow gradients.',
);

const critic = section(
  {
    optim: criticOptimizer,
    cliprange_value: field(
      float({ min: 0 }),
      0.5,
      'A new value counts as at most this far from the old one.',
    ),
    grad_clip: maybe(
      float({ min: 0 }),
      'Largest global gradient norm of the critic; 0 = no clipping. Default: as of the policy.',
    ),
    ppo_epochs: field(int({ min: 1 }), 1, 'Times that a batch is trained on.'),
    ppo_mini_batch_size: field(int({ min: 0 }), 0, 'Experiences per update; 0 = the whole batch.'),
    enable: field(flag(), false, 'verl only; the algorithm decides.'),
    loss_agg_mode: field(text(), 'token-mean', 'verl only.'),
    ...Object.fromEntries(
      [
        'strategy model ppo_micro_batch_size ppo_micro_batch_size_per_gpu forward_micro_batch_size forward_micro_batch_size_per_gpu',
        'use_dynamic_bsz ppo_max_token_len_per_gpu forward_max_token_len_per_gpu ulysses_sequence_parallel_size shuffle checkpoint',
        'megatron profile profiler data_loader_seed load_weight',
      ]
        .flatMap((line) => line.split(' '))
        .map((key) => [key, maybe(z.unknown(), 'verl only.')]),
    ),
    rollout_n: filledIn(),
    nccl_timeout: filledIn(),
    ray_namespace: filledIn(),
  },
  'The critic of algorithms that have one.',
);

/** The tree of verl, of which only the critic means something here. */
const trainerConfig = section(
  {
    critic,
    actor_rollout_ref: free('verl only.'),
    algorithm: free('verl only.'),
    buffer: free('verl only.'),
    custom_reward_function: free('verl only.'),
    data: free('verl only.'),
    global_profiler: free('verl only.'),
    reward_model: free('verl only.'),
    trainer: free('verl only.'),
    synchronizer: filledIn(),
    enable_preview: filledIn(),
  },
  'The critic, under its name in verl; the rest tunes verl.',
);

export const trainer = section(
  {
    name: field(word(), 'trainer', 'Name in logs and states.'),
    trainer_type: field(
      oneOf(['onnx', 'verl', 'tinker']),
      'onnx',
      'What trains. onnx: the embedded engine, also for verl.',
    ),
    trainer_strategy: field(oneOf(['fsdp', 'fsdp2', 'megatron']), 'fsdp', 'verl only.'),
    save_interval: field(
      int({ min: 0 }),
      0,
      'Train steps between checkpoints; 0 = only at the end.',
    ),
    enable_preview: field(flag(), true, 'Log the best and the worst rollout of each batch.'),
    total_steps: maybe(int({ min: 1 }), 'Train steps. Default: until the data ends.'),
    save_hf_checkpoint: field(
      oneOf(['last', 'always', 'never']),
      'last',
      'Every checkpoint is a Hugging Face folder here.',
    ),
    grad_clip: field(float({ min: 0 }), 1, 'Largest global gradient norm; 0 = no clipping.'),
    use_dynamic_bsz: field(flag(), true, 'verl only.'),
    use_remove_padding: field(flag(), true, 'verl only.'),
    balance_batch: field(flag(), true, 'verl only.'),
    critic_warmup: field(
      int({ min: 0 }),
      0,
      'Train steps in which only the critic learns; algorithms with a critic only.',
    ),
    max_token_len_per_gpu: maybe(int({ min: 1 }), 'verl only.'),
    ulysses_sequence_parallel_size: field(int(), 1, 'verl only.'),
    fix_actor_microbatch_loss_scale: field(
      flag(),
      false,
      'verl only; losses are always scaled over the whole batch here.',
    ),
    param_offload: field(flag(), false, 'verl only.'),
    optimizer_offload: field(flag(), false, 'verl only.'),
    grad_offload: field(flag(), false, 'verl only.'),
    offload_policy: field(flag(), false, 'verl only.'),
    save_strategy: field(
      oneOf(['single_thread', 'single_process', 'single_node', 'unrestricted']),
      'unrestricted',
      'verl only.',
    ),
    max_checkpoints_to_keep: maybe(
      int({ min: 0 }),
      'Older ones are removed; 0 or nothing = keep all.',
    ),
    megatron,
    trust_remote_code: filledIn(),
    trainer_config: trainerConfig,
    trainer_config_path: field(text(), '', 'Removed; not even the original accepts it.'),
  },
  'What learns.',
);
