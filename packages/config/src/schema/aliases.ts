/** Old names of keys. An old name is accepted, or is reported with the new name. */

/**
 * An old and a new name of a key within one section. The old name is accepted without a warning,
 * unless `deprecated` is true.
 */
export interface KeyAlias {
  /** Path of the section from the top level, without list indices. */
  readonly section: readonly string[];
  readonly from: string;
  readonly to: string;
  /** True to wrap the value in a list if it is not a list. */
  readonly asList?: true;
  /** True if the key is accepted with a warning that gives the new name. */
  readonly deprecated?: true;
}

const tasksetSections = [
  ...['taskset', 'tasksets', 'eval_tasksets'].map((name) => ['buffer', 'explorer_input', name]),
  ['data_processor', 'task_pipeline', 'output'],
];

export const keyAliases: readonly KeyAlias[] = [
  { section: ['buffer', 'explorer_input'], from: 'task_set', to: 'taskset' },
  {
    section: ['buffer', 'explorer_input'],
    from: 'eval_taskset',
    to: 'eval_tasksets',
    asList: true,
  },
  { section: ['buffer', 'explorer_input'], from: 'default_workflow', to: 'default_workflow_type' },
  {
    section: ['buffer', 'explorer_input'],
    from: 'default_reward_fn',
    to: 'default_reward_fn_type',
  },
  ...tasksetSections.flatMap((section): readonly KeyAlias[] => [
    { section, from: 'task_selector', to: 'data_selector', deprecated: true },
    { section, from: 'default_workflow', to: 'default_workflow_type' },
    { section, from: 'default_reward_fn', to: 'default_reward_fn_type' },
  ]),
  { section: ['explorer', 'rollout_model'], from: 'enable_openai_client', to: 'enable_openai_api' },
  {
    section: ['explorer', 'auxiliary_models'],
    from: 'enable_openai_client',
    to: 'enable_openai_api',
  },
  { section: ['monitor'], from: 'monitor_type', to: 'monitor_type', asList: true },
  {
    section: ['trainer'],
    from: 'ppo_max_token_len_per_gpu',
    to: 'max_token_len_per_gpu',
    deprecated: true,
  },
  { section: ['explorer'], from: 'runner_num', to: 'runner_per_model', deprecated: true },
  ...[
    ['algorithm', 'optimizer'],
    ['trainer', 'trainer_config', 'critic', 'optim'],
  ].map((section): KeyAlias => ({
    section,
    from: 'warmup_style',
    to: 'lr_scheduler_type',
    deprecated: true,
  })),
  { section: ['model'], from: 'max_token_len', to: 'max_model_len', deprecated: true },
];

/** A key that belongs to another section. Its value is moved to that section with a warning. */
export interface MovedKey {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

export const keysInOtherSections: readonly MovedKey[] = [
  {
    from: ['trainer', 'trainer_config', 'algorithm', 'rollout_correction'],
    to: ['algorithm', 'rollout_correction'],
  },
  {
    from: ['algorithm', 'bypass_old_logprobs'],
    to: ['algorithm', 'rollout_correction', 'bypass_mode'],
  },
];

/**
 * Advice for keys of older versions that are no longer accepted, by the path of the key without
 * list indices.
 */
export const movedKeys: Readonly<Record<string, string>> = {
  'buffer.default_workflow_type': 'Move it to buffer.explorer_input.default_workflow_type.',
  'buffer.default_reward_fn_type': 'Move it to buffer.explorer_input.default_reward_fn_type.',
  'buffer.max_retry_times':
    'Remove it; it belongs to databases, in the task set or buffer that uses one.',
  'buffer.max_retry_interval':
    'Remove it; it belongs to databases, in the task set or buffer that uses one.',
  'buffer.read_experience_strategy': 'Use algorithm.sample_strategy.',
  'buffer.trainer_input.sft_warmup_dataset':
    'Use a separate stage: stages with mode: train and algorithm_type: sft.',
  'buffer.trainer_input.sft_warmup_steps':
    'Use a separate stage: stages with mode: train and algorithm_type: sft.',
  'buffer.trainer_input.experience_buffer.use_priority_queue': 'Use replay_buffer.enable.',
  'algorithm.add_strategy': 'Use algorithm.advantage_fn.',
  'algorithm.add_strategy_args': 'Use algorithm.advantage_fn_args.',
  'algorithm.lr': 'Use algorithm.optimizer.lr.',
  'algorithm.learning_rate': 'Use algorithm.optimizer.lr.',
  'algorithm.group_size': 'Use algorithm.repeat_times.',
  'algorithm.gamma': 'Use algorithm.advantage_fn_args.gamma.',
  'algorithm.lam': 'Use algorithm.advantage_fn_args.lam.',
  'explorer.engine_type': 'Use explorer.rollout_model.engine_type.',
  'explorer.engine_num': 'Use explorer.rollout_model.engine_num.',
  'explorer.repeat_times': 'Use algorithm.repeat_times.',
  'explorer.temperature': 'Use model.temperature.',
  'explorer.max_waiting_steps': 'Remove it.',
  'explorer.max_pending_requests': 'Remove it.',
  'trainer.eval_interval': 'Use explorer.eval_interval.',
  'trainer.algorithm_type': 'Use algorithm.algorithm_type.',
  'trainer.sft_warmup_steps':
    'Use a separate stage: stages with mode: train and algorithm_type: sft.',
  'trainer.actor_grad_clip': 'Use trainer.grad_clip.',
  'synchronizer.sync_iteration_interval': 'Use synchronizer.sync_interval.',
  'model.checkpoint_path': 'Use checkpoint_root_dir.',
  data: 'Use buffer.explorer_input.taskset.',
};
