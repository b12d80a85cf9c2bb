/** The `model` section, and what models of the explorer share with it. */
import { z } from 'zod';
import {
  cast,
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

/** Linear layers of a decoder with grouped-query attention and a gated feed-forward block. */
export const linearModules = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const;

const oneOrMore = <S extends z.ZodType>(item: S) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',').map((word) => word.trim()) : value),
    z.array(item),
  );

const lora = z
  .strictObject({
    name: maybe(text(), 'Name of the adapter.'),
    path: maybe(
      text(),
      'Folder of an adapter as PEFT saves it, to go on from: its rank, scale and layers are those of the run. Default: a new one.',
    ),
    base_model_name: maybe(text(), 'Model the adapter belongs to.'),
    lora_rank: field(int({ min: 1 }), 32, 'Rank.'),
    lora_alpha: field(float({ above: 0 }), 32, 'Scale: the adapter counts alpha / rank times.'),
    lora_dtype: field(text(), 'auto', 'Number format.'),
    target_modules: field(
      oneOrMore(oneOf(['all-linear', ...linearModules])),
      ['all-linear'],
      'Layers with an adapter: all-linear, one name or a list.',
    ),
    exclude_modules: maybe(
      oneOrMore(oneOf(linearModules)),
      'Layers without one; one name or a list.',
    ),
    is_dummy: filledIn(),
  })
  .describe('An adapter.');

const externalModel = section(
  {
    enable: field(flag(), false, 'Rollouts through an external API.'),
    base_url_env: field(text(), 'OPENAI_BASE_URL', 'Environment variable that holds the address.'),
    api_key_env: field(text(), 'OPENAI_API_KEY', 'Environment variable that holds the key.'),
    model_name: maybe(text(), 'Name of the model there.'),
  },
  'A model behind an external API.',
);

export const model = section(
  {
    model_path: field(
      text(),
      '',
      'Folder of a Hugging Face model. A hub id can be planned, but not run.',
    ),
    critic_model_path: field(
      text(),
      '',
      'Folder of the model that the critic starts from. Default: model_path.',
    ),
    trust_remote_code: field(flag(), false, 'Python models only.'),
    custom_chat_template: maybe(text(), 'Chat template as text.'),
    chat_template_path: maybe(word(), 'File of the chat template; wins over custom_chat_template.'),
    temperature: field(float({ min: 0 }), 1, 'Sampling temperature; 0 = greedy.'),
    top_p: field(float({ above: 0, max: 1 }), 1, 'Share of the probability that is sampled from.'),
    top_k: field(int({ min: -1 }), -1, 'Number of tokens that are sampled from; -1 = all.'),
    logprobs: field(int({ min: 0, max: 20 }), 0, 'Alternatives reported per sampled token.'),
    max_model_len: maybe(
      int({ min: 2 }),
      'Tokens of prompt and response together. Default: their sum, else what the model on disk allows.',
    ),
    max_prompt_tokens: maybe(
      int({ min: 1 }),
      'Longest prompt. Default: what max_model_len leaves.',
    ),
    max_response_tokens: maybe(
      int({ min: 1 }),
      'Longest response. Default: what max_model_len leaves.',
    ),
    min_response_tokens: field(int({ min: 0 }), 0, 'Shortest response.'),
    enable_prompt_truncation: field(
      flag(),
      true,
      'Ignored: a prompt that is too long is never cut; its run is counted as prompt_too_long.',
    ),
    repetition_penalty: field(
      float({ above: 0 }),
      1,
      'Other than 1: tokens that occurred become less likely.',
    ),
    enable_thinking: maybe(flag(), 'Passed to the chat template.'),
    lora_configs: maybe(
      z.array(lora),
      'The adapter that is trained instead of the weights themselves; at most one.',
    ),
    fully_sharded_loras: field(flag(), false, 'vLLM only.'),
    max_cpu_loras: maybe(int(), 'vLLM only.'),
    rope_scaling: maybe(
      dict(),
      'Stretches the positions; the folder of the model may hold its own.',
    ),
    rope_theta: maybe(
      float({ above: 0 }),
      'Base of the positions; the folder of the model holds its own.',
    ),
    tinker: section(
      {
        enable: field(flag(), false, 'Train on the Tinker service.'),
        rank: field(int({ min: 1 }), 16, 'Rank of the adapter.'),
        seed: maybe(int(), 'Seed of the adapter.'),
        train_mlp: field(flag(), true, 'Adapt feed-forward layers.'),
        train_attn: field(flag(), true, 'Adapt attention layers.'),
        train_unembed: field(flag(), true, 'Adapt the output layer.'),
        base_url: maybe(text(), 'Address of the service.'),
      },
      'The Tinker service.',
    ),
    external_model: externalModel,
    threads: maybe(
      int({ min: 1, max: 1024 }),
      'Extension. Threads of the embedded engine. Default: the engine decides.',
    ),
    memory_budget_mb: maybe(
      int({ min: 16 }),
      'Extension. Memory for the activations of one micro-batch, in MiB. Default: the engine decides.',
    ),
  },
  'The model that is trained, and its limits.',
);

const engineNames = ['onnx', 'vllm', 'tinker', 'external', 'sglang'] as const;
/** Every `vllm...` is vllm. */
const engineType = cast(
  (value) => (typeof value === 'string' ? value.toLowerCase().replace(/^vllm.*/, 'vllm') : value),
  z.enum(engineNames),
  `one of ${engineNames.join(', ')}`,
);

/** `explorer.rollout_model`, and each of `explorer.auxiliary_models`. */
export const inferenceModelShape = {
  model_path: maybe(text(), 'Auxiliary models only.'),
  name: maybe(text(), 'Name that clients see. Default: the model path.'),
  trust_remote_code: field(flag(), false, 'Python models only.'),
  engine_type: field(engineType, 'onnx', 'What samples. onnx: the embedded engine, also for vllm.'),
  engine_num: field(int({ min: 1 }), 1, 'vLLM only: number of engines.'),
  tensor_parallel_size: field(int({ min: 1 }), 1, 'vLLM only.'),
  data_parallel_size: field(int({ min: 1 }), 1, 'vLLM only.'),
  pipeline_parallel_size: field(int({ min: 1 }), 1, 'vLLM only.'),
  enable_expert_parallel: field(flag(), false, 'vLLM only.'),
  gpu_per_engine: filledIn(),
  extra_engine_args: field(dict(), {}, 'vLLM only.'),
  use_v1: field(flag(), true, 'vLLM only.'),
  enforce_eager: field(flag(), false, 'vLLM only.'),
  enable_prefix_caching: field(flag(), true, 'vLLM only.'),
  enable_chunked_prefill: field(flag(), true, 'vLLM only.'),
  gpu_memory_utilization: field(float({ above: 0, max: 1 }), 0.9, 'vLLM only.'),
  dtype: field(text(), 'bfloat16', 'vLLM only; the embedded engine computes in float32.'),
  seed: field(int(), 42, 'vLLM only; the seed of the run decides.'),
  temperature: maybe(float({ min: 0 }), 'Default: model.temperature.'),
  top_p: maybe(float({ above: 0, max: 1 }), 'Default: model.top_p.'),
  top_k: maybe(int({ min: -1 }), 'Default: model.top_k.'),
  logprobs: maybe(int({ min: 0, max: 20 }), 'Default: model.logprobs.'),
  repetition_penalty: maybe(float({ above: 0 }), 'Default: model.repetition_penalty.'),
  max_model_len: maybe(int({ min: 2 }), 'Default: model.max_model_len.'),
  max_prompt_tokens: maybe(int({ min: 1 }), 'Default: model.max_prompt_tokens.'),
  max_response_tokens: maybe(int({ min: 1 }), 'Default: model.max_response_tokens.'),
  min_response_tokens: maybe(int({ min: 0 }), 'Default: model.min_response_tokens.'),
  enable_prompt_truncation: maybe(flag(), 'Default: model.enable_prompt_truncation.'),
  ignore_eos: field(flag(), false, 'Do not stop at the end token.'),
  enable_multimodal: field(flag(), false, 'Models that see.'),
  chat_template: maybe(text(), 'Default: the chat template of the model section.'),
  enable_thinking: maybe(flag(), 'Default: model.enable_thinking.'),
  enable_history: field(flag(), false, 'Record calls as experiences; every call is recorded here.'),
  enable_openai_api: field(flag(), false, 'Serve the OpenAI API; it is always there.'),
  enable_log_requests: field(flag(), false, 'vLLM only.'),
  base_port: maybe(int(), 'vLLM only.'),
  api_key: field(text(), 'EMPTY', 'vLLM only; every run gets a key of its own.'),
  enable_auto_tool_choice: field(
    flag(),
    false,
    'Let the model call tools; needs tool_call_parser.',
  ),
  tool_call_parser: maybe(text(), 'How tool calls are read from the text: hermes.'),
  reasoning_parser: maybe(text(), 'How reasoning is read from the text: deepseek_r1 or qwen3.'),
  external_model_config: externalModel,
  nnodes: filledIn(),
  node_rank: filledIn(),
  enable_return_routed_experts: field(flag(), false, 'Mixture-of-experts models only.'),
  weight_sync_buffer_size: field(int({ min: 1 }), 1024, 'vLLM only.'),
  bundle_indices: filledIn(),
  engine_id: filledIn(),
  ray_namespace: filledIn(),
  ray_actor_name: filledIn(),
  sync_method: filledIn(),
  checkpoint_job_dir: filledIn(),
  cuda_visible_devices: filledIn(),
  enable_lora: filledIn(),
  enable_runtime_lora_updating: filledIn(),
  lora_modules: filledIn(),
  lora_kwargs: filledIn(),
  rope_scaling: filledIn(),
  rope_theta: filledIn(),
};

/** An item of `explorer.auxiliary_models`. */
export const auxiliaryModelShape = {
  ...inferenceModelShape,
  model_path: maybe(
    text(),
    'Folder of a Hugging Face model; with base_url the name of the model there.',
  ),
  name: maybe(text(), 'Name that workflows know it by. Default: model_path.'),
  base_url: maybe(
    word(),
    'Extension. Address of an OpenAI-compatible API, which ends in /v1. Default: the embedded engine samples.',
  ),
  api_key: field(text(), 'EMPTY', 'Key of base_url, as ${oc.env:OPENAI_API_KEY}.'),
  chat_template: maybe(text(), 'Default: that of the model folder.'),
};
