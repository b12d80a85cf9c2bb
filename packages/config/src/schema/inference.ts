/** Sampling and chat settings of the explorer's models: the trained model and auxiliary models. */
import { z } from 'zod';
import { logprobsPerCall } from './data.js';
import { engineType, type EngineFactsTable } from './engines.js';
import {
  alike,
  supportedOnly,
  derived,
  field,
  filledIn,
  ignored,
  kept,
  maybe,
  notSupported,
  section,
} from './fields.js';
import { externalModel, float32, noPython, oneOrMore, tunesVllm } from './model.js';
import { dict, flag, float, int, text, word } from './scalars.js';

const oneEngine = () =>
  field(int({ min: 1 }), 1, 'vLLM only.', ignored('There is one embedded engine.'));
const vllmFlag = (value: boolean) => field(flag(), value, 'vLLM only.', ignored(tunesVllm));

/** Keys whose default is the value of the trained model. */
const inheritedShape = {
  temperature: maybe(float({ min: 0 }), 'Default: model.temperature.'),
  top_p: maybe(float({ above: 0, max: 1 }), 'Default: model.top_p.'),
  top_k: maybe(int({ min: -1 }), 'Default: model.top_k.'),
  logprobs: maybe(
    int({ min: 0, max: 20 }),
    'Default: model.logprobs.',
    ignored(logprobsPerCall, { except: [null, 0] }),
    kept,
  ),
  max_model_len: maybe(int({ min: 2 }), 'Default: model.max_model_len.'),
  max_prompt_tokens: maybe(int({ min: 1 }), 'Default: model.max_prompt_tokens.'),
  max_response_tokens: maybe(int({ min: 1 }), 'Default: model.max_response_tokens.'),
  min_response_tokens: maybe(int({ min: 0 }), 'Default: model.min_response_tokens.'),
  enable_thinking: maybe(flag(), 'Default: model.enable_thinking.'),
};

const toolCallParsers = [
  ...['auto', 'functiongemma', 'gemma4', 'hermes', 'lfm2', 'llama3_json', 'mistral'],
  ...['phi4_mini_json', 'pythonic', 'qwen3_coder'],
];

const parserShape = {
  tool_call_parser: maybe(
    text(),
    'The syntax of tool calls: auto (an extension: as the chat template shows it), functiongemma, gemma4, hermes (Qwen 2.5 and 3, Granite 4), lfm2, llama3_json, mistral, phi4_mini_json, pythonic or qwen3_coder (also Qwen 3.5).',
    ...supportedOnly(toolCallParsers),
  ),
  tool_prompt: maybe(
    text(),
    'Extension. generic: tools are described in the system message (in the first user message if the chat template prints no system message) and called in the syntax of hermes, for models whose chat template has no tools. Default: the chat template describes them.',
    ...supportedOnly(['generic']),
  ),
  reasoning_parser: maybe(
    text(),
    'How reasoning is read from the text: auto (an extension: as the chat template shows it), deepseek_r1, gemma4, mistral ([THINK]) or qwen3 (<think>).',
    ...supportedOnly(['auto', 'deepseek_r1', 'gemma4', 'mistral', 'qwen3']),
  ),
};

/** Keys that the trained model and auxiliary models have. */
const commonShape = {
  trust_remote_code: field(flag(), false, 'Python models only.', ignored(noPython)),
  engine_num: field(
    int({ min: 1 }),
    1,
    'vLLM only: number of engines.',
    ignored('There is one embedded engine.'),
  ),
  ...alike(['tensor_parallel_size', 'data_parallel_size', 'pipeline_parallel_size'], oneEngine),
  enable_expert_parallel: vllmFlag(false),
  gpu_per_engine: filledIn(),
  extra_engine_args: field(dict(), {}, 'vLLM only.', ignored(tunesVllm)),
  use_v1: vllmFlag(true),
  enforce_eager: vllmFlag(false),
  enable_prefix_caching: vllmFlag(true),
  enable_chunked_prefill: vllmFlag(true),
  gpu_memory_utilization: field(float({ above: 0, max: 1 }), 0.9, 'vLLM only.', ignored(tunesVllm)),
  dtype: field(
    text(),
    'bfloat16',
    'vLLM only; the embedded engine computes in float32.',
    ignored(float32),
  ),
  seed: field(
    int(),
    42,
    'vLLM only; the seed of the run decides.',
    ignored('The top-level seed decides.'),
  ),
  ...inheritedShape,
  repetition_penalty: maybe(
    float({ above: 0 }),
    'Default: model.repetition_penalty.',
    notSupported('Use 1; see model.repetition_penalty.', { except: [null, 1] }),
  ),
  enable_prompt_truncation: maybe(
    flag(),
    'Default: model.enable_prompt_truncation.',
    ignored('A prompt that is too long is never cut; its call fails.', {
      except: [undefined, null, true],
    }),
  ),
  ignore_eos: field(
    flag(),
    false,
    'Do not stop at the end token.',
    notSupported('Set min_response_tokens to the length that answers must have.'),
  ),
  enable_multimodal: field(
    flag(),
    false,
    'Models that see.',
    notSupported('Only text can be trained.'),
  ),
  enable_openai_api: field(flag(), false, 'Serve the OpenAI API; it is always there.', derived),
  enable_log_requests: vllmFlag(false),
  base_port: maybe(int(), 'vLLM only.', ignored(tunesVllm)),
  enable_auto_tool_choice: field(
    flag(),
    false,
    'As for vLLM. Only tool_call_parser and tool_prompt decide whether tool calls are read; true needs one of them.',
    derived,
  ),
  ...parserShape,
  nnodes: filledIn(),
  node_rank: filledIn(),
  enable_return_routed_experts: field(
    flag(),
    false,
    'Mixture-of-experts models only.',
    notSupported('Mixture-of-experts models cannot be trained yet.'),
  ),
  weight_sync_buffer_size: field(int({ min: 1 }), 1024, 'vLLM only.', ignored(tunesVllm)),
  ...alike(
    [
      'bundle_indices',
      'engine_id',
      'ray_namespace',
      'ray_actor_name',
      'sync_method',
      'checkpoint_job_dir',
      'cuda_visible_devices',
      'enable_lora',
      'enable_runtime_lora_updating',
      'lora_modules',
      'lora_kwargs',
      'rope_scaling',
      'rope_theta',
    ],
    filledIn,
  ),
};

/** Options for starting the servers of `base_url`, which the plan prints. */
const startShape = {
  tensor_parallel_size: field(int({ min: 1 }), 1, 'GPUs of each vLLM server of base_url.', derived),
  gpu_memory_utilization: field(
    float({ above: 0, max: 1 }),
    0.9,
    'Share of the GPU that each vLLM server of base_url takes.',
    derived,
  ),
  enforce_eager: field(flag(), false, 'No graphs on the vLLM servers of base_url.', derived),
  dtype: field(
    text(),
    'bfloat16',
    'Number format of the vLLM servers of base_url; the embedded engine computes in float32.',
    derived,
  ),
};

const historyText = 'Record calls as experiences; every call is recorded here.';

/** Schema of `explorer.rollout_model`. */
export const rolloutModelSection = (engines: EngineFactsTable) =>
  section(
    {
      model_path: maybe(
        text(),
        'Auxiliary models only.',
        ignored('model.model_path decides.', { except: [null] }),
      ),
      name: maybe(text(), 'Name that clients see. Default: the model path.'),
      engine_type: engineType(engines, 'rollout'),
      ...commonShape,
      ...startShape,
      chat_template: maybe(text(), 'Default: the chat template of the model section.'),
      enable_history: field(flag(), false, historyText, derived),
      base_url: maybe(
        oneOrMore(word()),
        'Extension. Address of a vLLM or SGLang server, or a list of them; with engine_type: external that of the API, which ends in /v1. Default: the engine that trains samples.',
        derived,
      ),
      api_key: field(
        text(),
        'EMPTY',
        'Key of base_url, as ${oc.env:VLLM_API_KEY}. Agents get a key of their own for every run.',
        derived,
      ),
      external_model_config: externalModel(),
    },
    'How the trained model samples and speaks.',
    derived,
  );

/** Schema of an item of `explorer.auxiliary_models`. */
export const auxiliaryModelItem = (engines: EngineFactsTable) =>
  z
    .strictObject({
      model_path: maybe(
        text(),
        'Folder of a Hugging Face model; with base_url the name of the model there.',
        derived,
      ),
      name: maybe(text(), 'Name by which workflows refer to it. Default: model_path.', derived),
      engine_type: engineType(engines, 'auxiliary'),
      ...commonShape,
      chat_template: maybe(text(), 'Default: that of the model folder.'),
      enable_history: field(
        flag(),
        false,
        historyText,
        ignored('Only calls of the trained model are recorded.'),
      ),
      base_url: maybe(
        word(),
        'Extension. Address of an OpenAI-compatible API, which ends in /v1. Default: the embedded engine samples.',
        derived,
      ),
      api_key: field(text(), 'EMPTY', 'Key of base_url, as ${oc.env:OPENAI_API_KEY}.', derived),
      external_model_config: externalModel(
        'Set base_url and api_key of the auxiliary model instead.',
      ),
    })
    .describe(
      'A model for workflows that is not trained. What is not set is as for the trained model.',
    );
