/**
 * Settings of Trinity-RFT's examples with environments or agents, keyed by path below `examples/`.
 */
import type { Tree } from '../support/workspace.js';

const ofEnvironment = '${oc.env:TRINITY_TASKSET_PATH}';
const checkpoint_root_dir = '${oc.env:TRINITY_CHECKPOINT_ROOT_DIR,./checkpoints}';
const cluster = { node_num: 1, gpu_per_node: 8 };
const model_path = '${oc.env:TRINITY_MODEL_PATH,Qwen/Qwen2.5-7B-Instruct}';
const sampling = {
  engine_num: 4,
  tensor_parallel_size: 1,
  enable_prefix_caching: false,
  enforce_eager: true,
  dtype: 'bfloat16',
  seed: 42,
};
const tools = {
  ...sampling,
  enable_thinking: true,
  enable_history: true,
  enable_openai_api: true,
  enable_auto_tool_choice: true,
  tool_call_parser: 'hermes',
};
const crowded = { gpu_memory_utilization: 0.7, enable_chunked_prefill: true };
const judge = {
  model_path: 'Qwen/Qwen3-30B-A3B-Instruct-2507',
  engine_num: 1,
  tensor_parallel_size: 2,
  enable_thinking: false,
  max_prompt_tokens: 2048,
  max_response_tokens: 128,
  max_model_len: 2500,
};
const nccl = { sync_method: 'nccl', sync_timeout: 1200 };
const asynchronous = { ...nccl, sync_style: 'dynamic_by_explorer' };
const long = { max_response_tokens: 4096, max_model_len: 20480 };
const packed = {
  grad_clip: 1.0,
  use_dynamic_bsz: true,
  max_token_len_per_gpu: 16384,
  ulysses_sequence_parallel_size: 1,
};
const queue = { name: 'experience_buffer', storage_type: 'queue' };

const raft = (workflow: string): Tree => ({
  project: 'Trinity-RFT-RAFT-alfworld',
  name: 'qwen2.5-7B-RAFT-alfworld',
  mode: 'both',
  checkpoint_root_dir,
  algorithm: { algorithm_type: 'raft', repeat_times: 1 },
  model: { model_path, ...long },
  cluster,
  buffer: {
    total_epochs: 30,
    batch_size: 80,
    explorer_input: {
      taskset: {
        name: 'alfworld-train',
        storage_type: 'file',
        path: ofEnvironment,
        split: 'train',
        format: { prompt_key: 'game_file', response_key: 'task_desc' },
        rollout_args: { temperature: 0.85, top_k: 25, top_p: 0.95 },
      },
      default_workflow_type: workflow,
    },
    trainer_input: { experience_buffer: { ...queue, path: 'sqlite:///RAFT_alfworld.db' } },
  },
  explorer: {
    eval_interval: 30,
    runner_per_model: 8,
    max_timeout: 3000,
    max_retry_times: 2,
    rollout_model: { ...sampling, enforce_eager: false, gpu_memory_utilization: 0.86 },
  },
  synchronizer: { ...asynchronous, sync_interval: 4 },
  trainer: { save_interval: 100_000 },
  monitor: { monitor_type: 'wandb' },
});

const alfworld = (workflow: string, workflow_args: Tree): Tree => ({
  project: 'ALFWORLD',
  name: 'ALFWORLD_RFTv2',
  checkpoint_root_dir,
  algorithm: { algorithm_type: 'grpo', advantage_fn: 'step_wise_grpo', repeat_times: 16 },
  model: { model_path, max_prompt_tokens: 4096, max_response_tokens: 16384 },
  cluster,
  buffer: {
    total_epochs: 20,
    batch_size: 16,
    explorer_input: {
      taskset: {
        name: 'alfworld',
        storage_type: 'file',
        path: ofEnvironment,
        format: { prompt_key: 'game_file' },
        rollout_args: { temperature: 1.0, logprobs: 0 },
        workflow_args,
        enable_progress_bar: false,
      },
      default_workflow_type: workflow,
    },
    trainer_input: { experience_buffer: queue },
  },
  explorer: {
    max_repeat_times_per_runner: 1,
    runner_per_model: 16,
    max_timeout: 3600,
    rollout_model: { ...sampling, ...crowded, enable_history: true, engine_num: 2 },
    env_vars: { TMPDIR: '/PATH/TO/ALFWORLD_TMP_DIR' },
  },
  synchronizer: { ...asynchronous, sync_interval: 2, sync_timeout: 3600 },
  trainer: { trainer_type: 'verl', save_interval: 50 },
  monitor: { monitor_type: 'wandb' },
});

const bots = (workflow: string, task_selector: Tree): Tree => ({
  project: 'BOTS-Selector',
  name: 'qwen2.5-1.5B-instruct-bots',
  checkpoint_root_dir,
  data_processor: { experience_pipeline: { operators: [{ name: 'pass_rate_calculator' }] } },
  algorithm: { algorithm_type: 'grpo', repeat_times: 16, optimizer: { lr: 1e-6 } },
  model: { model_path, max_prompt_tokens: 4096, max_response_tokens: 8192 },
  cluster,
  buffer: {
    total_epochs: 1,
    batch_size: 32,
    explorer_input: {
      taskset: {
        name: 'math-train',
        storage_type: 'file',
        path: ofEnvironment,
        split: 'train',
        format: { prompt_key: 'prompt', response_key: 'reward_model.ground_truth' },
        rollout_args: { temperature: 1.0 },
        task_selector,
      },
      default_workflow_type: workflow,
    },
    trainer_input: { experience_buffer: { ...queue, path: 'sqlite:///bots_trainer_buffer.db' } },
  },
  explorer: { eval_interval: 40, runner_per_model: 8, rollout_model: sampling },
  synchronizer: { ...nccl, sync_interval: 8 },
  trainer: { trainer_type: 'verl', save_interval: 800, ...packed },
});

const react = (taskset: Tree): Tree => ({
  project: 'Trinity-RFT-reactv2',
  name: 'Qwen3-8B-reactv2',
  checkpoint_root_dir,
  algorithm: { algorithm_type: 'grpo', advantage_fn: 'step_wise_grpo', repeat_times: 8 },
  model: { model_path, max_prompt_tokens: 8192, max_response_tokens: 16384 },
  cluster,
  buffer: {
    total_epochs: 1,
    batch_size: 32,
    explorer_input: {
      taskset: {
        storage_type: 'file',
        split: 'train',
        rollout_args: { temperature: 1.0 },
        ...taskset,
      },
      default_workflow_type: 'agentscope_reactv2_math_workflow',
    },
    trainer_input: { experience_buffer: queue },
  },
  explorer: {
    max_repeat_times_per_runner: 1,
    eval_interval: 50,
    runner_per_model: 4,
    max_timeout: 360,
    rollout_model: { ...tools, reasoning_parser: 'deepseek_r1' },
  },
  synchronizer: { ...asynchronous, sync_interval: 2 },
  trainer: { trainer_type: 'verl', save_interval: 100 },
  monitor: { monitor_type: 'wandb' },
});

/** Settings of an example that searches with tools and has a judge. */
const search = (workflow: string, algorithm: Tree, taskset: Tree): Tree => ({
  project: 'Trinity_Multi_Step',
  name: 'search',
  checkpoint_root_dir,
  algorithm: { repeat_times: 8, ...algorithm },
  model: { model_path, ...long },
  cluster,
  buffer: {
    total_epochs: 8,
    batch_size: 16,
    train_batch_size: 512,
    explorer_input: {
      taskset: {
        storage_type: 'file',
        path: ofEnvironment,
        split: 'train',
        rollout_args: { temperature: 1.0, max_tokens: 4096 },
        enable_progress_bar: false,
        ...taskset,
      },
      default_workflow_type: workflow,
    },
    trainer_input: { experience_buffer: { ...queue, replay_buffer: { enable: true } } },
  },
  explorer: {
    eval_interval: 10,
    max_repeat_times_per_runner: 1,
    max_timeout: 3600,
    rollout_model: { ...tools, ...crowded },
    auxiliary_models: [judge],
  },
  synchronizer: { ...asynchronous, sync_interval: 5, sync_timeout: 3600 },
  trainer: { save_interval: 20 },
});

const gsm8k = {
  name: 'gsm8k',
  storage_type: 'file',
  path: '${oc.env:TRINITY_TASKSET_PATH,openai/gsm8k}',
  subset_name: 'main',
  split: 'train',
  format: { prompt_key: 'question', response_key: 'answer' },
  rollout_args: { temperature: 1.0 },
};

export const examples: Readonly<Record<string, Tree>> = {
  'RAFT_alfworld/RAFT_alfworld_7B.yaml': raft('RAFT_alfworld_workflow'),
  'RAFT_alfworld/RAFT_reflect_alfworld_7B.yaml': raft('RAFT_reflect_alfworld_workflow'),
  'grpo_alfworld/alfworldv2.yaml': alfworld('alfworld_workflow_v2', {}),
  'grpo_alfworld/alfworld.yaml': alfworld('alfworld_workflow', {}),
  'grpo_alfworld_general_multi_step/alfworld.yaml': alfworld('step_wise_alfworld_workflow', {
    max_env_steps: 30,
  }),
  'bots/bots.yaml': bots('bots_math_boxed_workflow', {
    selector_type: 'difficulty_based',
    feature_keys: ['qwen2.5_7b_pass_rate', 'qwen3_30b_pass_rate'],
    kwargs: { m: 16, lamb: 0.1, rho: 0.1, target_reward: 0.5, tau: 0, do_sample: true },
  }),
  'bots/random.yaml': bots(
    'examples.bots.workflow.bots_math_boxed_workflow.BOTSMathBoxedWorkflow',
    {
      selector_type: 'random',
    },
  ),
  'agentscope_tool_react/agentscope_tool_react_gsm8k.yaml': react(gsm8k),
  'agentscope_tool_react/agentscope_tool_react_dapo.yaml': react({
    name: 'dapo',
    path: ofEnvironment,
    format: { prompt_key: 'prompt', response_key: 'solution' },
  }),
  'agentscope_react/gsm8k.yaml': {
    project: 'AgentScope-ReAct',
    name: 'GSM8K-Qwen3-8B',
    checkpoint_root_dir,
    algorithm: { algorithm_type: 'multi_step_grpo', repeat_times: 8, optimizer: { lr: 1e-6 } },
    model: { model_path, max_response_tokens: 16384, max_model_len: 24576 },
    cluster,
    buffer: {
      total_epochs: 1,
      batch_size: 32,
      train_batch_size: 256,
      explorer_input: {
        taskset: { ...gsm8k, default_workflow_type: 'as_react_workflow' },
        eval_tasksets: [],
      },
      trainer_input: { experience_buffer: queue },
    },
    explorer: {
      eval_interval: 50,
      runner_per_model: 8,
      max_timeout: 360,
      rollout_model: { ...tools, enforce_eager: false, reasoning_parser: 'deepseek_r1' },
    },
    synchronizer: { ...asynchronous, sync_interval: 2 },
    trainer: { save_interval: 100, ...packed, ulysses_sequence_parallel_size: 2 },
    monitor: { monitor_type: 'tensorboard' },
  },
  'agentscope_websearch/agentscopev1_websearch_agent.yaml': search(
    'agentscope_v1_react_search_workflow',
    { algorithm_type: 'grpo', advantage_fn: 'grpo' },
    {
      name: 'webqa_train',
      format: { prompt_key: 'problem', response_key: 'answer' },
      workflow_args: { max_turns: 10, search_client_type: 'tavily' },
    },
  ),
  'browse_comp_plus/bcp_config.yaml': search(
    'bcp_simple_react_workflow',
    { algorithm_type: 'multi_step_grpo', advantage_fn_args: { std_threshold: 0.001 } },
    {
      name: 'browsecomp_train',
      format: { prompt_key: 'query', response_key: 'answer' },
      workflow_args: {
        max_iterations: 30,
        max_model_tokens: 64000,
        searcher_type: 'bm25',
        index_path: 'indexes/bm25',
        browsecomp_path: null,
        top_k: 5,
        snippet_max_tokens: 512,
        include_get_document: false,
      },
    },
  ),
  'grpo_email_search/email_search.yaml': search(
    'as_react_workflow',
    { algorithm_type: 'grpo', advantage_fn: 'grpo' },
    {
      name: 'enron_train',
      format: { prompt_key: 'question', response_key: 'answer' },
      workflow_args: { type: 'email_search', max_turns: 10 },
      reward_fn_args: { llm_as_a_judge: true },
    },
  ),
  'grpo_frozen_lake/frozen_lake.yaml': {
    project: 'FrozenLake',
    name: 'test-trinity-0.6B',
    checkpoint_root_dir,
    algorithm: {
      algorithm_type: 'grpo',
      repeat_times: 8,
      optimizer: { lr: 1e-6 },
      policy_loss_fn_args: {
        loss_agg_mode: 'seq-mean-token-sum',
        clip_range_low: 0.2,
        clip_range_high: 0.28,
      },
      kl_loss_fn_args: { kl_coef: 0.0 },
    },
    model: { model_path, max_response_tokens: 10240, max_model_len: 14436, temperature: 0.7 },
    cluster,
    buffer: {
      total_epochs: 1,
      batch_size: 32,
      explorer_input: {
        taskset: {
          name: 'frozenlake',
          storage_type: 'file',
          path: ofEnvironment,
          split: 'train',
          workflow_args: { max_steps: 10, is_slippery: false },
        },
        default_workflow_type: 'frozen_lake_workflow',
      },
    },
    explorer: {
      eval_on_startup: true,
      eval_interval: 10,
      runner_per_model: 8,
      rollout_model: { ...sampling, ...crowded, engine_num: 6, enable_thinking: true },
    },
    trainer: {
      trainer_type: 'verl',
      save_interval: 40,
      ...packed,
      trainer_config: {
        actor_rollout_ref: {
          hybrid_engine: true,
          model: { use_remove_padding: true, enable_gradient_checkpointing: true },
          actor: { fsdp_config: { param_offload: true, optimizer_offload: true } },
          ref: { fsdp_config: { param_offload: true } },
        },
      },
    },
    synchronizer: { ...nccl, sync_interval: 2 },
  },
  'learn_to_ask/train.yaml': {
    mode: 'both',
    project: 'learn2ask',
    name: 'learn2ask_example',
    checkpoint_root_dir,
    algorithm: {
      algorithm_type: 'grpo',
      repeat_times: 5,
      policy_loss_fn: 'ppo',
      advantage_fn: 'grpo',
      kl_penalty_fn: 'none',
      kl_loss_fn: 'k2',
      entropy_loss_fn: 'default',
      optimizer: { lr: 5e-7, lr_warmup_steps_ratio: 0.0, warmup_style: 'constant' },
    },
    data_processor: {},
    model: { model_path, max_prompt_tokens: 2048, max_response_tokens: 1024 },
    cluster,
    buffer: {
      batch_size: 64,
      total_epochs: 4,
      explorer_input: {
        taskset: {
          name: 'taskset',
          storage_type: 'file',
          path: ofEnvironment,
          split: 'train',
          subset_name: null,
          format: { prompt_key: 'messages', response_key: 'action_truth' },
          rollout_args: { temperature: 1.0, logprobs: 0 },
          workflow_args: { train_mode: 'Ra+Rs', fusion_mode: 'default' },
        },
        eval_tasksets: [],
        default_workflow_type: 'learn2ask_workflow',
        default_reward_fn_type: 'math_reward',
      },
      trainer_input: {
        experience_buffer: {
          ...queue,
          path: '',
          replay_buffer: {
            enable: true,
            priority_fn: 'linear_decay',
            priority_fn_args: { decay: 0.1 },
          },
        },
      },
    },
    explorer: {
      runner_per_model: 32,
      max_timeout: 900,
      max_retry_times: 2,
      rollout_model: { ...sampling, engine_type: 'vllm_async', enable_thinking: false },
      auxiliary_models: [judge],
      eval_interval: 10000,
      bench_on_latest_checkpoint: false,
    },
    trainer: { trainer_type: 'verl', save_interval: 90, enable_preview: true, ...packed },
    monitor: { monitor_type: 'wandb' },
    synchronizer: { ...nccl, sync_interval: 10, sync_timeout: 7200 },
  },
  'grpo_sciworld/sciworld.yaml': alfworld('sciworld_workflow', {}),
  'grpo_webshop/webshop.yaml': alfworld('webshop_workflow', {}),
  'ppo_countdown/countdown.yaml': {
    project: 'Trinity-RFT-countdown',
    name: 'qwen2.5-1.5B-countdown',
    checkpoint_root_dir,
    algorithm: { algorithm_type: 'ppo', repeat_times: 5, optimizer: { lr: 1e-5 } },
    model: { model_path, max_response_tokens: 1024, max_model_len: 1280 },
    cluster,
    buffer: {
      total_epochs: 20,
      batch_size: 96,
      explorer_input: {
        taskset: {
          name: 'countdown',
          storage_type: 'file',
          path: ofEnvironment,
          format: { prompt_key: 'question', response_key: 'answer' },
          rollout_args: { temperature: 1.0, logprobs: 0 },
        },
        default_workflow_type: 'math_workflow',
        default_reward_fn_type: 'countdown_reward',
      },
      trainer_input: { experience_buffer: { ...queue, path: 'sqlite:///countdown.db' } },
    },
    explorer: {
      eval_interval: 100,
      runner_per_model: 8,
      rollout_model: { ...sampling, engine_num: 2 },
    },
    synchronizer: { ...nccl, sync_interval: 10 },
    trainer: { save_interval: 100, ...packed },
  },
};
