/**
 * What becomes of every known key: the one table. A key that is not listed is supported.
 *
 * - `notBuilt`: refused, because the feature behind it does not exist yet.
 * - `ignoredHarmless`: accepted with one warning line; it tunes the Python stack, and a run means
 * the same without it.
 *
 * A row applies when the file sets the key to something else than its default. Paths are those of a
 * stage after it was laid over the top level; `*` stands for any index or name. Keys that the run
 * fills in by itself (`filledIn()` in the schema) are ignored with a warning as well.
 */
import { builtInTables, type AlgorithmTables } from '@trinity-rft/algorithm';
import { missingNames, namedKeys } from './known-names.js';

export type KeyStatusName = 'notBuilt' | 'ignoredHarmless';

export interface KeyStatus {
  readonly path: string;
  readonly status: KeyStatusName;
  /** Values that it is about; default: all but the default value. */
  readonly values?: readonly unknown[];
  /** Values that are fine; for keys without a default in the schema. */
  readonly except?: readonly unknown[];
  /** Why, and what to do instead. */
  readonly note: string;
}

function notBuilt(
  path: string,
  note: string,
  only: Pick<KeyStatus, 'values' | 'except'> = {},
): KeyStatus {
  return { path, status: 'notBuilt', note, ...only };
}

/** Several keys of one section that are ignored for the same reason. */
function ignored(
  sectionPath: string,
  keys: string,
  note: string,
  only: Pick<KeyStatus, 'values' | 'except'> = {},
): readonly KeyStatus[] {
  return keys.split(' ').map((key) => ({
    path: sectionPath === '' ? key : `${sectionPath}.${key}`,
    status: 'ignoredHarmless',
    note,
    ...only,
  }));
}

const tasksets = ['buffer.explorer_input.tasksets.*', 'buffer.explorer_input.eval_tasksets.*'];
const experienceBuffers = [
  'buffer.trainer_input.experience_buffer',
  'buffer.trainer_input.auxiliary_buffers.*',
];
const rolloutModel = 'explorer.rollout_model';
const auxiliaryModel = 'explorer.auxiliary_models.*';
const verl = 'trainer.trainer_config';
const verlActor = `${verl}.actor_rollout_ref.actor`;
const verlCritic = `${verl}.critic`;

const perCall = 'A workflow asks for alternatives per call, with top_logprobs.';

/** What the trained model and the auxiliary ones have in common. */
const inferenceModel = (section: string): readonly KeyStatus[] => [
  ...ignored(
    section,
    'enable_prompt_truncation',
    'A prompt that is too long is never cut; its call fails.',
    {
      except: [undefined, null, true],
    },
  ),
  ...ignored(section, 'engine_type', 'The embedded engine samples instead.', { values: ['vllm'] }),
  ...ignored(
    section,
    'engine_num tensor_parallel_size data_parallel_size pipeline_parallel_size',
    'There is one embedded engine.',
  ),
  ...ignored(
    section,
    'enable_expert_parallel extra_engine_args use_v1 enforce_eager enable_prefix_caching enable_chunked_prefill gpu_memory_utilization enable_log_requests base_port weight_sync_buffer_size',
    'It tunes vLLM.',
  ),
  ...ignored(section, 'logprobs', perCall, { except: [null, 0] }),
  ...ignored(section, 'dtype', 'The embedded engine computes in float32.'),
  ...ignored(section, 'seed', 'The top-level seed decides.'),
  ...ignored(section, 'trust_remote_code', 'No Python code of a model is ever run.'),
  notBuilt(`${section}.repetition_penalty`, 'Use 1.0.', { except: [null, 1] }),
  notBuilt(`${section}.ignore_eos`, 'Use min_response_tokens.'),
  notBuilt(`${section}.enable_multimodal`, 'Only text can be trained.'),
  notBuilt(
    `${section}.enable_return_routed_experts`,
    'Mixture-of-experts models cannot be trained yet.',
  ),
  notBuilt(`${section}.tool_call_parser`, 'Built: hermes.', { except: [null, 'hermes'] }),
  notBuilt(`${section}.reasoning_parser`, 'Built: deepseek_r1, qwen3.', {
    except: [null, 'deepseek_r1', 'qwen3'],
  }),
];

const ownStatuses: readonly KeyStatus[] = [
  notBuilt('mode', 'Use both: explorer and trainer share one process.', { values: ['explore'] }),
  ...ignored('', 'mode', 'It means both: explorer and trainer always share one process.', {
    values: ['colocate'],
  }),
  ...ignored(
    'model',
    'enable_prompt_truncation',
    'A prompt that is too long is never cut; its run is counted as prompt_too_long.',
  ),
  ...ignored('', 'ignore_validator_suggestions', 'There is no check of GPU memory.'),
  notBuilt('cod', 'Remove it.'),

  notBuilt('algorithm.optimizer.optimizer_type', 'Use adam.', { values: ['sgd'] }),
  notBuilt('algorithm.enable_router_replay', 'Mixture-of-experts models cannot be trained yet.'),
  notBuilt(
    'algorithm.bypass_old_logprobs',
    'The log-probabilities of the sampler are the old ones; remove the key.',
  ),
  notBuilt(
    'algorithm.rollout_correction',
    'Sampler and trainer agree on the embedded engine; remove the key, or use policy_loss_fn: truncated_importance_sampling.',
    {
      except: [null, { bypass_mode: true }],
    },
  ),

  ...ignored('model', 'trust_remote_code', 'No Python code of a model is ever run.'),
  ...ignored('model', 'fully_sharded_loras max_cpu_loras', 'It tunes vLLM.'),
  ...ignored('model', 'logprobs', perCall),
  notBuilt('model.repetition_penalty', 'Use 1.0.'),
  ...ignored('model.lora_configs.*', 'lora_dtype', 'The embedded engine computes in float32.'),
  ...ignored('model.lora_configs.*', 'base_model_name', 'It is model.model_path.', {
    except: [null],
  }),
  notBuilt(
    'model.rope_scaling',
    'Put it into config.json of the model folder, if the model supports it.',
    { except: [null] },
  ),
  notBuilt('model.rope_theta', 'It is read from config.json of the model folder.', {
    except: [null],
  }),
  notBuilt('model.tinker.enable', 'The embedded engine trains; remove it.'),
  notBuilt('model.external_model.enable', 'The embedded engine samples; remove it.'),

  ...tasksets.flatMap((taskset) => [
    notBuilt(
      `${taskset}.storage_type`,
      'Use file: a JSON lines, JSON or Parquet file, a folder of them, or a data set of the hub.',
      {
        values: ['sql', 'queue'],
      },
    ),
    notBuilt(`${taskset}.data_selector.selector_type`, 'Built: sequential, shuffle, random.', {
      values: ['offline_easy2hard', 'difficulty_based'],
    }),
    notBuilt(`${taskset}.format.image_key`, 'Only text can be trained.', { except: [null] }),
    notBuilt(`${taskset}.format.video_key`, 'Only text can be trained.', { except: [null] }),
    ...ignored(taskset, 'max_retry_times max_retry_interval', 'It belongs to databases.'),
    ...ignored(taskset, 'enable_progress_bar', 'Progress is always shown.'),
    ...ignored(`${taskset}.rollout_args`, 'n', 'repeat_times decides.'),
    ...ignored(`${taskset}.rollout_args`, 'logprobs', perCall, { except: [null, 0] }),
    ...ignored(`${taskset}.format`, 'chat_template enable_thinking', 'The model section decides.', {
      except: [null],
    }),
  ]),
  ...ignored(
    'buffer.explorer_input.tasksets.*',
    'repeat_times',
    'algorithm.repeat_times decides for task sets that are learnt from.',
  ),

  ...experienceBuffers.flatMap((buffer) => [
    notBuilt(`${buffer}.replay_buffer.enable`, 'Every experience is trained on once.'),
    notBuilt(`${buffer}.data_selector.selector_type`, 'Built: sequential, shuffle, random.', {
      values: ['offline_easy2hard', 'difficulty_based'],
    }),
    notBuilt(`${buffer}.format.image_key`, 'Only text can be trained.', { except: [null] }),
    notBuilt(`${buffer}.format.video_key`, 'Only text can be trained.', { except: [null] }),
    ...ignored(
      buffer,
      'max_retry_times max_retry_interval',
      'A file on this machine needs no retries.',
    ),
    ...ignored(buffer, 'enable_progress_bar', 'Progress is always shown.'),
    ...ignored(`${buffer}.format`, 'chat_template', 'The model section decides.', {
      except: [null],
    }),
  ]),

  notBuilt('explorer.over_rollout.ratio', 'Every task of a step is waited for; use max_timeout.'),
  notBuilt('explorer.dynamic_timeout.enable', 'Use max_timeout.'),
  ...ignored('explorer', 'runner_prepare_concurrency runner_prepare_max_retries', 'It tunes Ray.'),
  ...ignored('explorer', 'name', 'There is one explorer.'),
  ...ignored(
    'explorer',
    'concurrent_mode',
    'Runs are always concurrent, each with a workflow of its own.',
  ),
  ...ignored('explorer', 'max_repeat_times_per_runner', 'Every run is scheduled by itself.', {
    except: [null],
  }),
  ...ignored(
    'explorer',
    'min_running_model_num',
    'The one engine takes new weights between two calls.',
  ),
  ...ignored(
    'explorer',
    'db_url',
    'Served calls are kept in serve/calls.db in the folder of the run.',
    { except: [null] },
  ),
  ...ignored(
    'explorer',
    'runner_state_report_interval',
    'There are no runner processes to report on.',
  ),
  ...ignored(
    'explorer',
    'max_inflight_batches',
    'sync_interval and sync_offset bound what is in flight.',
  ),

  notBuilt(`${rolloutModel}.engine_type`, 'Use onnx.', {
    values: ['tinker', 'external', 'sglang'],
  }),
  ...ignored(rolloutModel, 'model_path', 'model.model_path decides.', { except: [null] }),
  ...ignored(rolloutModel, 'api_key', 'Every run gets a key of its own.'),
  notBuilt(
    `${rolloutModel}.external_model_config.enable`,
    'The embedded engine samples; remove it.',
  ),
  ...inferenceModel(rolloutModel),

  notBuilt(`${auxiliaryModel}.engine_type`, 'Use onnx, or give base_url.', {
    values: ['tinker', 'sglang'],
  }),
  notBuilt(
    `${auxiliaryModel}.external_model_config.enable`,
    'Set base_url and api_key of the auxiliary model instead.',
  ),
  ...ignored(auxiliaryModel, 'enable_history', 'Only calls of the trained model are recorded.'),
  ...inferenceModel(auxiliaryModel),

  notBuilt('trainer.trainer_type', 'Use onnx.', { values: ['tinker'] }),
  ...ignored('trainer', 'trainer_type', 'The embedded engine trains instead.', {
    values: ['verl'],
  }),
  ...ignored(
    'trainer',
    'trainer_strategy use_dynamic_bsz use_remove_padding balance_batch max_token_len_per_gpu ulysses_sequence_parallel_size',
    'It tunes verl.',
  ),
  ...ignored(
    'trainer',
    'param_offload optimizer_offload grad_offload offload_policy save_strategy megatron',
    'It tunes verl.',
  ),
  ...ignored('trainer', 'name', 'There is one trainer.'),
  ...ignored(
    'trainer',
    'fix_actor_microbatch_loss_scale',
    'Losses are always scaled over the whole batch.',
  ),
  ...ignored('trainer', 'save_hf_checkpoint', 'Every checkpoint is a Hugging Face folder.', {
    values: ['never'],
  }),
  notBuilt(
    'trainer.trainer_config_path',
    'Remove it, and set algorithm.optimizer, trainer.grad_clip and the like.',
  ),
  ...ignored(
    verl,
    'actor_rollout_ref algorithm buffer custom_reward_function data global_profiler reward_model trainer',
    'It tunes verl; algorithm.optimizer, trainer.grad_clip and the like decide.',
    { except: [undefined, null, {}] },
  ),
  ...ignored(
    verlCritic,
    'checkpoint data_loader_seed enable forward_max_token_len_per_gpu forward_micro_batch_size forward_micro_batch_size_per_gpu load_weight loss_agg_mode megatron model ppo_max_token_len_per_gpu ppo_micro_batch_size ppo_micro_batch_size_per_gpu profile profiler shuffle strategy ulysses_sequence_parallel_size use_dynamic_bsz',
    'It tunes verl.',
  ),
  notBuilt(
    `${verlCritic}.ppo_epochs`,
    'The critic, too, is trained on every batch once; remove it.',
  ),
  notBuilt(
    `${verlCritic}.ppo_mini_batch_size`,
    'A train step is one update of the whole batch; remove it.',
  ),
  notBuilt(`${verlActor}.ppo_epochs`, 'Every batch is trained on once; remove it.', {
    except: [undefined, null, 1],
  }),
  notBuilt(
    `${verlActor}.ppo_mini_batch_size`,
    'A train step is one update of the whole batch; set buffer.train_batch_size and remove it.',
    { except: [undefined, null] },
  ),
  notBuilt(`${verlActor}.optim`, 'Set algorithm.optimizer instead, as in "lr: 1e-6".', {
    except: [undefined, null, {}],
  }),
  notBuilt(`${verlActor}.grad_clip`, 'Set trainer.grad_clip instead.', {
    except: [undefined, null],
  }),
  notBuilt(
    'trainer.trainer_config.algorithm.rollout_correction',
    'Sampler and trainer agree on the embedded engine; remove it.',
    {
      except: [undefined, null, {}, { bypass_mode: true }],
    },
  ),

  ...ignored(
    'synchronizer',
    'sync_method',
    'Explorer and trainer share one process, so weights move through memory.',
    {
      values: ['nccl'],
    },
  ),
  notBuilt('synchronizer.sync_style', 'Built: fixed, explorer_driven.', {
    values: ['trainer_driven', 'fully_async'],
  }),
  notBuilt('synchronizer.explorer_sync_interval', 'Use sync_interval.', { except: [null] }),
  notBuilt('synchronizer.trainer_sync_interval', 'Use sync_interval.', { except: [null] }),
  ...ignored('synchronizer', 'group_name', 'It tunes NCCL.'),
  ...ignored('synchronizer', 'wait_for_checkpoint', 'It has no effect in the original either.'),

  notBuilt(
    'monitor.monitor_type.*',
    'Built: tensorboard; the console and metrics.jsonl are always written.',
    {
      values: ['wandb', 'mlflow', 'swanlab'],
    },
  ),
  ...ignored('monitor', 'monitor_args', 'TensorBoard takes no arguments.', { except: [null, {}] }),
  ...ignored('monitor', 'enable_ray_timeline', 'There is no Ray.'),
  ...ignored('log', 'group_by_node', 'There is one node.'),
  ...ignored(
    'cluster',
    'ray_address node_num gpu_per_node',
    'The run is one process on this machine.',
  ),

  notBuilt('service.data_juicer', 'Prepare the data before the run.', { except: [null] }),
  notBuilt('data_processor.task_pipeline', 'Prepare the task set before the run.', {
    except: [null],
  }),
  notBuilt(
    'data_processor.experience_pipeline.input_save_path',
    'Experiences are kept in the buffer of the run.',
    { except: [null] },
  ),
  ...ignored(
    'data_processor.experience_pipeline',
    'save_input',
    'Experiences are kept in the buffer of the run.',
  ),
  ...ignored(
    'data_processor.experience_pipeline',
    'inputs output',
    'It has no effect in the original either.',
    { except: [null, {}] },
  ),
];

/** Algorithms and parts that are known and not in the tables. */
const nameStatuses = (tables: AlgorithmTables): readonly KeyStatus[] =>
  namedKeys.flatMap((named) =>
    missingNames(named, tables).map((name) =>
      notBuilt(named.path, named.known[name] ?? '', { values: [name] }),
    ),
  );

/** The table, for the algorithms of some tables. */
export const statusesOf = (tables: AlgorithmTables): readonly KeyStatus[] => [
  ...nameStatuses(tables),
  ...ownStatuses,
];

export const keyStatuses: readonly KeyStatus[] = statusesOf(builtInTables);
