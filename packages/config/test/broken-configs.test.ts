import { ConfigError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import type { NameTables, WorkflowFacts } from '../src/index.js';
import { fileWith, wrongValues } from './wrong-values.js';
import { createWorkspace, problems, parts, yaml } from './workspace.js';

const cwd = createWorkspace();

interface Broken {
  readonly name: string;
  /** `«` marks where the one problem must be reported. */
  readonly file: string | Partial<typeof parts>;
  readonly key: string;
  /** Parts of the message: the value, and the fix. */
  readonly says: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const taskset = 'buffer:\n  explorer_input:\n    taskset:\n';
const sft = { top: 'mode: train', algorithm: 'algorithm:\n  algorithm_type: sft' };

const cases: readonly Broken[] = [
  // Syntax
  { name: 'an empty file', file: '«', key: '', says: ['empty', 'Expected sections'] },
  { name: 'a file of comments', file: '«# nothing yet\n', key: '', says: ['empty'] },
  {
    name: 'a single value',
    file: '«hello',
    key: '',
    says: ['a single value', 'Expected sections'],
  },
  { name: 'a list', file: '«- mode: both', key: '', says: ['a list', 'Expected sections'] },
  { name: 'a tab', file: 'model:\n«\tmodel_path: x\n', key: '', says: ['tab', 'two spaces'] },
  {
    name: 'a duplicate key',
    file: 'mode: both\n«mode: train\n',
    key: '',
    says: ['already set', 'keep one'],
  },
  {
    name: 'an open bracket',
    file: 'algorithm: {repeat_times: 2\n«',
    key: '',
    says: ['close every bracket'],
  },
  { name: 'an open quote', file: 'name: "run\n«', key: '', says: ['not closed'] },
  {
    name: 'two documents',
    file: 'mode: both\n«---\nmode: train\n',
    key: '',
    says: ['one document'],
  },
  {
    name: 'an unknown tag',
    file: 'name: «!env RUN_NAME\n',
    key: '',
    says: ['tag has no meaning here', '${oc.env:NAME}'],
  },
  {
    name: 'a tag of another form',
    file: 'algorithm: {optimizer: {lr: «!!float 1}}\n',
    key: '',
    says: ['form of its tag', '1.0 for !!float'],
  },
  ...[
    ['checkpoint_root_dir: «postgresql://host/db', 'checkpoint_root_dir', 'Name a file or folder.'],
    ['checkpoint_root_dir: «file:///runs', 'checkpoint_root_dir', 'Leave file:// out.'],
  ].map(([top = '', key = '', fix = '']) => ({ name: top, file: { top }, key, says: [fix] })),
  {
    name: 'a database in place of a file of tasks',
    file: {
      buffer:
        'buffer:\n  explorer_input:\n    default_workflow_type: w\n    tasksets: [{path: «sqlite:///a.db}]',
    },
    key: 'buffer.explorer_input.tasksets[0].path',
    says: ['Set storage_type: sql'],
  },
  {
    name: 'an unknown tag in oc.decode',
    file: { top: 'name: «\'${oc.decode:"!env RUN_NAME"}\'' },
    key: 'name',
    says: ['oc.decode'],
  },
  {
    name: 'a number without a digit',
    file: { model: 'model:\n  model_path: ./tiny\n  temperature: «"_"' },
    key: 'model.temperature',
    says: ['got "_", expected a number'],
  },
  {
    name: 'an infinite number',
    file: { model: 'model:\n  model_path: ./tiny\n  temperature: «.inf' },
    key: 'model.temperature',
    says: ['got Infinity, expected a number'],
  },
  {
    name: 'an explorer whose name leads out of the run',
    file: { rest: 'explorer:\n  name: «../../other' },
    key: 'explorer.name',
    says: ['holds "/"'],
  },
  {
    name: 'an empty address to listen on',
    file: { rest: 'explorer:\n  listen_address: «""' },
    key: 'explorer.listen_address',
    says: ['text that is not empty'],
  },
  ...['evaluations', 'Serve', 'a/b'].map((stage): Broken => ({
    name: `a stage that is called ${stage}`,
    file: { rest: `stages:\n  - stage_name: «${stage}` },
    key: 'stages[0].stage_name',
    says: [stage],
  })),
  {
    name: 'a bad indentation',
    file: 'model:\n  model_path: x\n« temperature: 1\n',
    key: '',
    says: ['indentation'],
  },
  {
    name: 'a missing anchor',
    file: { rest: 'monitor: «*nowhere' },
    key: 'monitor',
    says: ['no anchor "&nowhere"', 'before their use'],
  },
  { name: 'an empty key', file: { rest: '? «\n: 1' }, key: '', says: ['A key must be a word'] },

  // Names
  {
    name: 'a mistyped section',
    file: { rest: '«synchroniser:\n  sync_interval: 1' },
    key: 'synchroniser',
    says: ['unknown key "synchroniser"', 'Did you mean "synchronizer"?'],
  },
  {
    name: 'a mistyped section with the name of a number of another section',
    file: { rest: '«explorers:\n  runner_per_model: 2' },
    key: 'explorers',
    says: ['Did you mean "explorer"?'],
  },
  ...['', ' [a, b]'].map((value) => ({
    name: `a mistyped section with the name of a number and the value "${value}"`,
    file: { rest: `«explorers:${value}` },
    key: 'explorers',
    says: ['Did you mean "explorer"?'],
  })),
  {
    name: 'an empty value of another section',
    file: { rest: 'trainer:\n  «sync_interval:' },
    key: 'trainer.sync_interval',
    says: ['belongs to the path synchronizer.sync_interval'],
  },
  {
    name: 'a number of another section with a name like that of a section',
    file: { rest: '«explorers: 2' },
    key: 'explorers',
    says: ['It belongs to the path cluster.explorers.'],
  },
  {
    name: 'a mistyped number with the name of a section',
    file: { rest: 'cluster:\n  «explorer: 2' },
    key: 'cluster.explorer',
    says: ['Did you mean "explorers"?'],
  },
  {
    name: 'a mistyped key',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  «repeat_time: 4' },
    key: 'algorithm.repeat_time',
    says: ['Did you mean "repeat_times"?'],
  },
  {
    name: 'a mistyped key deep down',
    file: {
      buffer: `${taskset}      path: ./tasks.jsonl\n      default_workflow_type: w\n      format:\n        «promt_key: q`,
    },
    key: 'buffer.explorer_input.taskset.format.promt_key',
    says: ['Did you mean "prompt_key"?'],
  },
  {
    name: 'a key of another section',
    file: { rest: 'trainer:\n  «sync_interval: 2' },
    key: 'trainer.sync_interval',
    says: ['belongs to the path synchronizer.sync_interval'],
  },
  {
    name: 'a key that was moved',
    file: {
      buffer:
        'buffer:\n  «max_retry_times: 3\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}',
    },
    key: 'buffer.max_retry_times',
    says: ['Remove it'],
  },
  {
    name: 'a key of an older version',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  «add_strategy: step_wise_grpo' },
    key: 'algorithm.add_strategy',
    says: ['Use algorithm.advantage_fn'],
  },
  {
    name: 'an unknown key without a similar name',
    file: { rest: 'log:\n  «zebra: 1' },
    key: 'log.zebra',
    says: ['Expected one of level'],
  },
  {
    name: 'a key and its other name',
    file: {
      rest: 'explorer:\n  rollout_model:\n    enable_openai_api: true\n    «enable_openai_client: true',
    },
    key: 'explorer.rollout_model.enable_openai_client',
    says: ['another name of "enable_openai_api"', 'Keep one'],
  },
  {
    name: 'a prototype as a key',
    file: { rest: '«__proto__: 1' },
    key: '__proto__',
    says: ['unknown key'],
  },

  // Types
  {
    name: 'a word for a number',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: «eight' },
    key: 'algorithm.repeat_times',
    says: ['got "eight"', 'a whole number, at least 1'],
  },
  {
    name: 'a fraction for a count',
    file: { rest: 'synchronizer:\n  sync_interval: «1.5' },
    key: 'synchronizer.sync_interval',
    says: ['got 1.5', 'a whole number'],
  },
  {
    name: 'a number out of range',
    file: { rest: 'synchronizer:\n  sync_interval: «0' },
    key: 'synchronizer.sync_interval',
    says: ['got 0', 'at least 1'],
  },
  {
    name: 'a temperature below 0',
    file: { model: 'model:\n  model_path: ./tiny\n  temperature: «-1' },
    key: 'model.temperature',
    says: ['got -1', 'at least 0'],
  },
  {
    name: 'a share above 1',
    file: { model: 'model:\n  model_path: ./tiny\n  top_p: «1.5' },
    key: 'model.top_p',
    says: ['got 1.5', 'above 0 and at most 1'],
  },
  {
    name: 'an infinite learning rate',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer:\n    lr: «.inf' },
    key: 'algorithm.optimizer.lr',
    says: ['a number, above 0'],
  },
  {
    name: 'a word for a switch',
    file: { rest: 'explorer:\n  eval_on_startup: «maybe' },
    key: 'explorer.eval_on_startup',
    says: ['got "maybe"', 'true or false'],
  },
  {
    name: 'a list for text',
    file: { top: 'name: «[a, b]' },
    key: 'name',
    says: ['expected text', 'indented'],
  },
  {
    name: 'true for text',
    file: { top: 'group: «true' },
    key: 'group',
    says: ['got true', 'quotes'],
  },
  {
    name: 'nothing for text',
    file: { top: 'project: «null' },
    key: 'project',
    says: ['got nothing', 'Give it a value'],
  },
  {
    name: 'a value for a section',
    file: { model: 'model: «./tiny' },
    key: 'model',
    says: ['a section of keys', 'indented by two spaces'],
  },
  {
    name: 'a list for a section',
    file: { model: 'model:\n  «- model_path: ./tiny' },
    key: 'model',
    says: ['a section of keys', 'Remove the "- "'],
  },
  {
    name: 'a section for a list',
    file: { buffer: 'buffer:\n  explorer_input:\n    tasksets:\n      «path: ./tasks.jsonl' },
    key: 'buffer.explorer_input.tasksets',
    says: ['a list', 'Put "- "'],
  },
  {
    name: 'three betas',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer:\n    betas: «[0.9, 0.99, 0.999]',
    },
    key: 'algorithm.optimizer.betas',
    says: ['two numbers'],
  },
  {
    name: 'an empty variable for a number',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: «${oc.env:N}' },
    key: 'algorithm.repeat_times',
    says: ['got ""', 'a whole number'],
    env: { N: '' },
  },

  // Names of things
  {
    name: 'a mistyped algorithm',
    file: { algorithm: 'algorithm:\n  algorithm_type: «gropo' },
    key: 'algorithm.algorithm_type',
    says: ['got "gropo"', 'expected one of', 'Did you mean "grpo"?'],
  },
  {
    name: 'a mistyped mode',
    file: { top: 'mode: «bosh' },
    key: 'mode',
    says: ['Did you mean "both"?'],
  },
  {
    name: 'an unknown log level',
    file: { rest: 'log:\n  level: «loud' },
    key: 'log.level',
    says: ['expected one of DEBUG'],
  },
  {
    name: 'an argument that the function does not have',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  policy_loss_fn_args:\n    «clip_rang: 0.1',
    },
    key: 'algorithm.policy_loss_fn_args.clip_rang',
    says: ['unknown key', 'Did you mean "clip_range"?'],
  },
  {
    name: 'an argument of another function',
    file: {
      algorithm:
        'algorithm:\n  algorithm_type: multi_step_grpo\n  advantage_fn_args:\n    «rank_penalty: 0.1',
    },
    key: 'algorithm.advantage_fn_args.rank_penalty',
    says: ['unknown key'],
  },
  {
    name: 'an argument out of range',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  policy_loss_fn_args:\n    clip_ratio_c: «1',
    },
    key: 'algorithm.policy_loss_fn_args.clip_ratio_c',
    says: ['got 1', 'above 1'],
  },
  {
    name: 'an argument for a strategy without any',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  sample_strategy_args:\n    «ratio: 1',
    },
    key: 'algorithm.sample_strategy_args.ratio',
    says: ['unknown key'],
  },

  // Not supported
  {
    name: 'an algorithm that is not supported',
    file: { algorithm: 'algorithm:\n  «algorithm_type: cod' },
    key: 'algorithm.algorithm_type',
    says: ['got "cod"', 'is not supported', 'across tasks'],
  },
  {
    name: 'a mode that does not exist',
    file: { top: 'mode: «roam' },
    key: 'mode',
    says: ['got "roam"', 'explore'],
  },
  {
    name: 'arguments that could be for either monitor',
    file: {
      rest: 'monitor:\n  monitor_type: [mlflow, wandb]\n  monitor_args: «{uri: http://host:5000}',
    },
    key: 'monitor.monitor_args',
    says: ['which monitor', '{mlflow: {...}, wandb: {...}}'],
  },
  {
    name: 'two adapters',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  lora_configs:\n    - lora_rank: 8\n    - «lora_rank: 4',
    },
    key: 'model.lora_configs[1]',
    says: ['a second adapter', 'remove the others'],
  },
  {
    name: 'an adapter to continue in a folder without one',
    file: {
      model: 'model:\n  model_path: ./tiny\n  lora_configs:\n    - {path: «./tiny, lora_rank: 4}',
    },
    key: 'model.lora_configs[0].path',
    says: ['got "./tiny"', 'adapter_config.json', 'as PEFT saves it'],
  },
  {
    name: 'an adapter to continue, of another rank',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  lora_configs:\n    - {path: ./adapter, lora_rank: «4}',
    },
    key: 'model.lora_configs[0].lora_rank',
    says: ['got 4', 'has 8', 'Remove the key'],
  },
  {
    name: 'an adapter without a rank',
    file: { model: 'model:\n  model_path: ./tiny\n  lora_configs: [{lora_rank: «0}]' },
    key: 'model.lora_configs[0].lora_rank',
    says: ['got 0', 'at least 1'],
  },
  {
    name: 'an adapter of a layer that no model has',
    file: {
      model: 'model:\n  model_path: ./tiny\n  lora_configs: [{target_modules: [q_proj, «v_pro]}]',
    },
    key: 'model.lora_configs[0].target_modules[1]',
    says: ['got "v_pro"', 'Did you mean "v_proj"?'],
  },
  {
    name: 'a layer of other models',
    file: {
      model: 'model:\n  model_path: ./tiny\n  lora_configs: [{target_modules: «[qkv_proj]}]',
    },
    key: 'model.lora_configs[0].target_modules',
    says: ['"qkv_proj" is not a layer', 'some of q_proj, '],
  },
  {
    name: 'quantised weights that are all to be trained',
    file: { model: 'model:\n  model_path: ./tiny\n  quantization: «int8' },
    key: 'model.quantization',
    says: ['got "int8"', 'all weights are trained', 'Set lora_configs'],
  },
  {
    name: 'blocks of a file that has none',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  quantization: «file\n  lora_configs: [{lora_rank: 8}]',
    },
    key: 'model.quantization',
    says: ['got "file"', 'tiny is not a GGUF file with quantised weights', 'Use int8 or int4'],
  },
  {
    name: 'a GPU for quantised weights',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  device: «webgpu\n  quantization: int8\n  lora_configs: [{lora_rank: 8}]',
    },
    key: 'model.device',
    says: ['got "webgpu"', 'quantised weights', 'Set quantization: none, or cpu'],
  },
  {
    name: 'a device that is none',
    file: { model: 'model:\n  model_path: ./tiny\n  device: «gpu' },
    key: 'model.device',
    says: ['got "gpu"', 'auto'],
  },
  {
    name: 'an adapter without layers',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  lora_configs: [{target_modules: q_proj, exclude_modules: «q_proj}]',
    },
    key: 'model.lora_configs[0].exclude_modules',
    says: ['every layer', 'Name fewer'],
  },
  {
    name: 'a critic that is nowhere',
    file: { model: 'model:\n  model_path: ./tiny\n  critic_model_path: «./nowhere' },
    key: 'model.critic_model_path',
    says: ['./nowhere'],
  },
  {
    name: 'a critic without a model in it',
    file: { model: 'model:\n  model_path: ./tiny\n  critic_model_path: «./no-config' },
    key: 'model.critic_model_path',
    says: ['no-config', 'config.json'],
  },
  {
    name: 'a mistyped key of the critic',
    file: { rest: 'trainer:\n  trainer_config:\n    critic:\n      «cliprange: 0.2' },
    key: 'trainer.trainer_config.critic.cliprange',
    says: ['Did you mean "cliprange_value"?'],
  },
  {
    name: 'a critic that learns backwards',
    file: { rest: 'trainer:\n  trainer_config:\n    critic:\n      optim: {lr: «-1e-5}' },
    key: 'trainer.trainer_config.critic.optim.lr',
    says: ['a number, above 0'],
  },
  {
    name: 'two bounds of the gradient of the critic',
    file: {
      rest: 'trainer:\n  trainer_config:\n    critic:\n      grad_clip: «2\n      optim: {clip_grad: 1}',
    },
    key: 'trainer.trainer_config.critic.grad_clip',
    says: ['got 2', 'Keep one'],
  },
  {
    name: 'a mistyped operator',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - name: «reward_filtre',
    },
    key: 'data_processor.experience_pipeline.operators[0].name',
    says: ['got "reward_filtre"', 'Did you mean "reward_filter"?'],
  },
  {
    name: 'an operator without a name',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - «args: {threshold: 1}',
    },
    key: 'data_processor.experience_pipeline.operators[0].name',
    says: ['got nothing', 'expected one of reward_filter'],
  },
  {
    name: 'an operator that is not supported',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - {«name: data_juicer}',
    },
    key: 'data_processor.experience_pipeline.operators[0].name',
    says: ['not supported', 'plugin'],
  },
  {
    name: 'a mistyped argument of an operator',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - name: reward_filter\n        args: {«treshold: 1}',
    },
    key: 'data_processor.experience_pipeline.operators[0].args.treshold',
    says: ['Did you mean "threshold"?'],
  },
  {
    name: 'a wrong argument of an operator',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - name: reward_filter\n        args: {threshold: «high}',
    },
    key: 'data_processor.experience_pipeline.operators[0].args.threshold',
    says: ['got "high"', 'a number'],
  },
  {
    name: 'an expert without data',
    file: {
      buffer: `${taskset}      {path: ./tasks.jsonl, default_workflow_type: w}\n  trainer_input:\n    auxiliary_buffers:\n      «sft_dataset: {storage_type: file}`,
    },
    key: 'buffer.trainer_input.auxiliary_buffers.sft_dataset.path',
    says: ['is missing', 'JSON lines'],
  },
  {
    name: 'an expert who waits in a queue',
    file: {
      buffer: `${taskset}      {path: ./tasks.jsonl, default_workflow_type: w}\n  trainer_input:\n    auxiliary_buffers:\n      sft_dataset: {path: ./tasks.jsonl, storage_type: «queue}`,
    },
    key: 'buffer.trainer_input.auxiliary_buffers.sft_dataset.storage_type',
    says: ['got "queue"', 'Use storage_type: file'],
  },
  {
    name: 'stored experiences beside, that are not there',
    file: {
      buffer: `${taskset}      {path: ./tasks.jsonl, default_workflow_type: w}\n  trainer_input:\n    auxiliary_buffers:\n      old: {schema_type: experience, storage_type: sql, path: «sqlite:///none.db}`,
    },
    key: 'buffer.trainer_input.auxiliary_buffers.old.path',
    says: ['no stored experiences', 'earlier run'],
  },
  {
    name: 'a KL coefficient of the loss that adapts',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  kl_loss_fn_args: {adaptive: «true}' },
    key: 'algorithm.kl_loss_fn_args.adaptive',
    says: ['got true', '"target_kl"'],
  },
  {
    name: 'a number that is a word among arguments',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  kl_loss_fn_args: {kl_coef: «small}' },
    key: 'algorithm.kl_loss_fn_args.kl_coef',
    says: ['got "small"', 'a number, at least 0'],
  },
  {
    name: 'a database of tasks that is not there',
    file: {
      buffer: `${taskset}      path: «sqlite:///nowhere.db\n      storage_type: sql\n      default_workflow_type: w`,
    },
    key: 'buffer.explorer_input.taskset.path',
    says: ['got "sqlite:///nowhere.db", but there is no database'],
  },
  {
    name: 'a judge without a model',
    file: { rest: 'explorer:\n  auxiliary_models:\n    - «name: judge' },
    key: 'explorer.auxiliary_models[0].model_path',
    says: ['not set', 'base_url'],
  },
  {
    name: 'a judge of the hub without its owner',
    file: { rest: 'explorer:\n  auxiliary_models:\n    - model_path: «Qwen3-8B' },
    key: 'explorer.auxiliary_models[0].model_path',
    says: ['there is no', 'owner/name'],
  },
  {
    name: 'two judges of one name',
    file: {
      rest: 'explorer:\n  auxiliary_models:\n    - {name: judge, model_path: ./tiny}\n    - {name: «judge, model_path: ./tiny}',
    },
    key: 'explorer.auxiliary_models[1].name',
    says: ['earlier auxiliary model'],
  },
  {
    name: 'a judge without a valid URL',
    file: { rest: 'explorer:\n  auxiliary_models:\n    - {model_path: m, base_url: «localhost}' },
    key: 'explorer.auxiliary_models[0].base_url',
    says: ['not a URL', 'https://'],
  },
  {
    name: 'a judge whose URL contains a secret',
    file: {
      rest: 'explorer:\n  auxiliary_models:\n    - {model_path: m, base_url: «"https://u:hunter22@x.test/v1"}',
    },
    key: 'explorer.auxiliary_models[0].base_url',
    says: ['contains a secret', 'api_key'],
  },
  {
    name: 'a judge with longer texts than it can read',
    file: {
      rest: 'explorer:\n  auxiliary_models:\n    - {model_path: ./tiny, max_model_len: «1024}',
    },
    key: 'explorer.auxiliary_models[0].max_model_len',
    says: ['1024', '512'],
  },
  {
    name: 'a setting of verl that would change the result',
    file: {
      rest: 'trainer:\n  trainer_config:\n    actor_rollout_ref:\n      actor:\n        «optim: {lr: 1e-5}',
    },
    key: 'trainer.trainer_config.actor_rollout_ref.actor.optim',
    says: ['algorithm.optimizer'],
  },
  {
    name: 'a tool parser that is not supported',
    file: { rest: 'explorer:\n  rollout_model:\n    «tool_call_parser: internlm' },
    key: 'explorer.rollout_model.tool_call_parser',
    says: ['not supported', 'hermes', 'qwen3_coder'],
  },

  // Interpolation
  {
    name: 'a variable that is not set',
    file: { model: 'model:\n  model_path: «${oc.env:TRINITY_MODEL_PATH}' },
    key: 'model.model_path',
    says: ['TRINITY_MODEL_PATH is not set', '${oc.env:TRINITY_MODEL_PATH,default}'],
  },
  {
    name: 'a key that does not exist',
    file: { model: 'model:\n  model_path: «${model.path}' },
    key: 'model.model_path',
    says: ['model.path, which does not exist', 'whole path'],
  },
  {
    name: 'a cycle',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  temperature: ${model.top_p}\n  top_p: «${model.temperature}',
    },
    key: 'model.top_p',
    says: ['in a circle: model.temperature -> model.top_p -> model.temperature', 'Give one'],
  },
  {
    name: 'an open interpolation',
    file: { top: 'name: «run-${oc.env:USER' },
    key: 'name',
    says: ['not closed', 'Add "}"'],
  },
  {
    name: 'an unknown resolver',
    file: { top: 'name: «${oc.evn:USER}' },
    key: 'name',
    says: ['no "oc.evn"', 'Did you mean "oc.env"?'],
  },
  {
    name: 'a text that cannot be decoded',
    file: { model: 'model:\n  model_path: ./tiny\n  threads: «${oc.decode:"[1"}' },
    key: 'model.threads',
    says: ['could not read "[1"'],
  },
  {
    name: 'a section inside a string',
    file: { top: 'name: «run-${algorithm}' },
    key: 'name',
    says: ['cannot stand inside a longer string'],
  },

  // Paths
  {
    name: 'no model',
    file: { model: '«model:\n  temperature: 1' },
    key: 'model.model_path',
    says: ['not set', 'folder of a Hugging Face model'],
  },
  {
    name: 'a model folder that is not there',
    file: { model: 'model:\n  model_path: «./missing\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['got "./missing"', 'there is no', 'working directory'],
  },
  {
    name: 'a home folder',
    file: { model: 'model:\n  model_path: «~/models/tiny\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['${oc.env:HOME}'],
  },
  {
    name: 'a file for a model',
    file: { model: 'model:\n  model_path: «./tasks.jsonl\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['is not a complete GGUF file', 'the folder of a Hugging Face model'],
  },
  {
    name: 'a model folder without config.json',
    file: { model: 'model:\n  model_path: «./no-config\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['no readable config.json'],
  },
  {
    name: 'a broken config.json',
    file: { model: 'model:\n  model_path: «./bad-json\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['not JSON'],
  },
  {
    name: 'a config.json without a size',
    file: { model: 'model:\n  model_path: «./bad-shape\n  max_model_len: 64' },
    key: 'model.model_path',
    says: ['hidden_size'],
  },
  {
    name: 'a model that takes images',
    file: { model: 'model:\n  model_path: «./sees\n  max_model_len: 64' },
    key: 'model.model_path',
    says: [
      'takes more than text (vision_config',
      'no engine supports',
      'Give a model of text alone',
    ],
  },
  {
    name: 'a model that takes images, sampled on servers',
    file: {
      model: 'model:\n  model_path: «./sees-and-reads\n  max_model_len: 64',
      rest: 'explorer:\n  rollout_model: {engine_type: vllm, base_url: "http://localhost:8000"}',
    },
    key: 'model.model_path',
    says: ['only the embedded engine', 'Give a model of text alone'],
  },
  {
    name: 'a task file that is not there',
    file: { buffer: `${taskset}      path: «data/train.jsonl\n      default_workflow_type: w` },
    key: 'buffer.explorer_input.taskset.path',
    says: ['got "data/train.jsonl"', 'there is no'],
  },
  {
    name: 'a template that is not there',
    file: { model: 'model:\n  model_path: ./tiny\n  chat_template_path: «chat.jinja' },
    key: 'model.chat_template_path',
    says: ['not a readable text file'],
  },
  {
    name: 'a file for the root of all runs',
    file: { top: 'checkpoint_root_dir: «./tasks.jsonl' },
    key: 'checkpoint_root_dir',
    says: ['is a file', 'Give a folder'],
  },
  {
    name: 'a name that leaves its folder',
    file: { top: 'name: «../elsewhere' },
    key: 'name',
    says: ['leads out of its folder'],
  },

  // What does not fit together
  {
    name: 'no tasks',
    file: { buffer: '«buffer:\n  batch_size: 4' },
    key: 'buffer.explorer_input.tasksets',
    says: ['is empty', 'buffer.explorer_input.taskset'],
  },
  {
    name: 'tasks without a path',
    file: { buffer: 'buffer:\n  explorer_input:\n    taskset:\n      «default_workflow_type: w' },
    key: 'buffer.explorer_input.taskset.path',
    says: ['is missing', 'openai/gsm8k'],
  },
  {
    name: 'tasks without a workflow',
    file: { buffer: 'buffer:\n  explorer_input:\n    taskset:\n      «path: ./tasks.jsonl' },
    key: 'buffer.explorer_input.taskset.default_workflow_type',
    says: ['is not set', 'math_workflow'],
  },
  {
    name: 'taskset and tasksets',
    file: {
      buffer:
        'buffer:\n  explorer_input:\n    default_workflow_type: w\n    tasksets: [{path: ./tasks.jsonl}]\n    «taskset: {path: ./tasks.jsonl}',
    },
    key: 'buffer.explorer_input.taskset',
    says: ['both set', 'into the list'],
  },
  {
    name: 'two task sets of one name',
    file: {
      buffer:
        'buffer:\n  explorer_input:\n    default_workflow_type: w\n    tasksets:\n      - {name: a, path: ./tasks.jsonl}\n      - {name: «a, path: ./tasks.jsonl}',
    },
    key: 'buffer.explorer_input.tasksets[1].name',
    says: ['got "a"', 'Names must differ'],
  },
  {
    name: 'a group of one',
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  repeat_times: «1' },
    key: 'algorithm.repeat_times',
    says: ['got 1', 'at least 2'],
  },
  {
    name: 'a prompt and a response that do not fit',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  max_model_len: «64\n  max_prompt_tokens: 48\n  max_response_tokens: 32',
    },
    key: 'model.max_model_len',
    says: ['got 64', 'Raise it to 80, or lower them to 64 together.'],
  },
  {
    name: 'a response that leaves no prompt',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 64\n  max_response_tokens: «64',
    },
    key: 'model.max_response_tokens',
    says: ['got 64', 'leaves nothing'],
  },
  {
    name: 'a shortest response that is too long',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  max_model_len: 64\n  max_response_tokens: 16\n  min_response_tokens: «16',
    },
    key: 'model.min_response_tokens',
    says: ['got 16', 'less than max_response_tokens'],
  },
  {
    name: 'a sequence longer than the model',
    file: { model: 'model:\n  model_path: ./tiny\n  max_model_len: «4096' },
    key: 'model.max_model_len',
    says: ['4096', 'positions for 512'],
  },
  {
    name: 'a prompt that is too long for the model with its response',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_prompt_tokens: «600\n  max_response_tokens: 16',
    },
    key: 'model.max_prompt_tokens',
    says: [
      '600 and 16 tokens need sequences of 616',
      'for 512. Lower max_prompt_tokens and max_response_tokens to 512 together, or',
    ],
  },
  {
    name: 'a response that is too long for the model with its prompt',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_prompt_tokens: 96\n  max_response_tokens: «500',
    },
    key: 'model.max_response_tokens',
    says: ['96 and 500 tokens need sequences of 596', 'to 512 together, or'],
  },
  {
    name: 'a prompt and a response that are each too long for the model',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_prompt_tokens: «700\n  max_response_tokens: 600',
    },
    key: 'model.max_prompt_tokens',
    says: ['700 and 600 tokens', 'to 512 together, or'],
  },
  {
    name: 'a prompt and a response that fit neither the given length nor the model',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  max_model_len: «512\n  max_prompt_tokens: 600\n  max_response_tokens: 16',
    },
    key: 'model.max_model_len',
    says: ['need 616. Lower them to 512 together, because the model has positions for 512.'],
  },
  {
    name: 'a given length and a prompt that are each too long for the model',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: «600\n  max_prompt_tokens: 700',
    },
    key: 'model.max_model_len',
    says: [
      'of 600 tokens',
      'for 512. Lower it to 512, and max_prompt_tokens and max_response_tokens to 512 together, or use another model.',
    ],
  },
  {
    name: 'a length that would leave too little for its parts if it were lowered',
    file: {
      model:
        'model:\n  model_path: ./tiny\n  max_model_len: «600\n  max_prompt_tokens: 400\n  max_response_tokens: 200',
    },
    key: 'model.max_model_len',
    says: [
      'Lower it to 512, and max_prompt_tokens and max_response_tokens to 512 together, or use another model.',
    ],
  },
  {
    name: 'a prompt longer than the model beside a length that is all of its positions',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 512\n  max_prompt_tokens: «550',
    },
    key: 'model.max_prompt_tokens',
    says: ['leaves nothing of max_model_len 512 for the rest. Lower it.'],
  },
  {
    name: 'a prompt longer than the given length',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 64\n  max_prompt_tokens: «100',
    },
    key: 'model.max_prompt_tokens',
    says: ['Lower it, or raise max_model_len.'],
  },
  {
    name: 'a prompt and a response of the rollout model that do not fit',
    file: {
      model: 'model:\n  model_path: ./tiny',
      rest: 'explorer: {«rollout_model: {max_prompt_tokens: 500, max_response_tokens: 100}}',
    },
    key: 'explorer.rollout_model.max_model_len',
    says: [
      'need 600. Lower them to 512 together, because texts longer than model.max_model_len, 512,',
    ],
  },
  {
    name: 'a prompt of the rollout model that is longer than the trained model',
    file: {
      model: 'model:\n  model_path: ./tiny',
      rest: 'explorer: {rollout_model: {max_prompt_tokens: «600}}',
    },
    key: 'explorer.rollout_model.max_prompt_tokens',
    says: ['leaves nothing of max_model_len 512 for the rest. Lower it.'],
  },
  {
    name: 'lengths that neither the file nor the disk gives',
    file: { model: '«model:\n  model_path: Qwen/Qwen3-0.6B' },
    key: 'model.max_model_len',
    says: ['no config.json on this disk', 'Set it'],
  },
  {
    name: 'more tokens than the model may hold',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 64',
      buffer: `${taskset}      path: ./tasks.jsonl\n      default_workflow_type: w\n      rollout_args:\n        max_tokens: «64`,
    },
    key: 'buffer.explorer_input.taskset.rollout_args.max_tokens',
    says: ['got 64', 'no room for a prompt', 'Lower it, or raise model.max_model_len.'],
  },
  {
    name: 'more tokens than the model has positions for',
    file: {
      buffer: `${parts.buffer}\n      rollout_args: {max_tokens: «600}`,
    },
    key: 'buffer.explorer_input.taskset.rollout_args.max_tokens',
    says: ['got 600', 'model.max_model_len, 512. Lower it.'],
  },
  {
    name: 'two places for the gradient norm',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer:\n    clip_grad: 1',
      rest: 'trainer:\n  grad_clip: «0.5',
    },
    key: 'trainer.grad_clip',
    says: ['got 0.5', 'Keep one'],
  },
  {
    name: 'copies of dropped groups without dropping',
    file: {
      algorithm:
        'algorithm:\n  algorithm_type: grpo\n  advantage_fn_args:\n    duplicate_experiences: «true',
    },
    key: 'algorithm.advantage_fn_args.duplicate_experiences',
    says: ['std_threshold'],
  },
  {
    name: 'a weight of the loss that needs another clip mode',
    file: {
      algorithm:
        'algorithm:\n  algorithm_type: rec\n  policy_loss_fn_args:\n    weight: «gspo_importance_sampling',
    },
    key: 'algorithm.policy_loss_fn_args.weight',
    says: ['expected "clip_mode" to be "gspo-one-side"'],
  },
  {
    name: 'a penalty near a limit that is below its range',
    file: {
      rest: 'data_processor:\n  experience_pipeline:\n    operators:\n      - name: overlong_penalty\n        args: {max_response_length: «4, cache_length: 8}',
    },
    key: 'data_processor.experience_pipeline.operators[0].args.max_response_length',
    says: ['a number > "cache_length" (8)'],
  },
  {
    name: 'tools without a parser',
    file: { rest: 'explorer:\n  rollout_model:\n    enable_auto_tool_choice: «true' },
    key: 'explorer.rollout_model.enable_auto_tool_choice',
    says: ['tool_call_parser: auto'],
  },
  {
    name: 'rollouts longer than the model',
    file: {
      rest: 'explorer:\n  rollout_model:\n    max_model_len: «1024',
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 64',
    },
    key: 'explorer.rollout_model.max_model_len',
    says: ['of 1024 tokens', 'cannot be trained on. Lower it to 64.'],
  },

  // Supervised data, stored data, benchmarks
  {
    name: 'a text for a tracking service without quotes',
    file: { rest: 'monitor:\n  monitor_type: wandb\n  monitor_args:\n    group: «1' },
    key: 'monitor.monitor_args.group',
    says: ['got 1, expected text', 'in quotes'],
  },
  {
    name: 'responses that fill the length of the rollout model',
    file: {
      model: 'model:\n  model_path: ./tiny\n  max_model_len: 20',
      buffer: `${parts.buffer}\n      rollout_args: {max_tokens: «10}`,
      rest: 'explorer: {rollout_model: {max_model_len: 10}}',
    },
    key: 'buffer.explorer_input.taskset.rollout_args.max_tokens',
    says: ['got 10', 'explorer.rollout_model.max_model_len, 10'],
  },
  {
    name: 'supervised learning that explores',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: «sft',
      buffer:
        'buffer:\n  batch_size: 2\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}\n  trainer_input: {experience_buffer: {path: ./tasks.jsonl}}',
    },
    key: 'algorithm.algorithm_type',
    says: ['"both" with sft', 'Set mode: train'],
  },
  {
    name: 'a teacher of answers to a product',
    file: {
      top: 'mode: serve',
      algorithm: 'algorithm:\n  algorithm_type: «on_policy_distill',
      buffer: 'buffer:\n  train_batch_size: 4',
    },
    key: 'algorithm.algorithm_type',
    says: ['on_policy_distill learns from', 'such as grpo'],
  },
  {
    name: 'pairs that are explored',
    file: {
      algorithm: 'algorithm:\n  algorithm_type: dpo',
      top: 'mode: «both',
      buffer:
        'buffer:\n  batch_size: 2\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}\n  trainer_input: {experience_buffer: {path: ./tasks.jsonl}}',
    },
    key: 'mode',
    says: ['"both" with dpo', 'Set mode: train'],
  },
  {
    name: 'supervised learning without data',
    file: { ...sft, buffer: '«buffer:\n  train_batch_size: 4' },
    key: 'buffer.trainer_input.experience_buffer.path',
    says: ['is missing', 'sft needs'],
  },
  {
    name: 'supervised learning from a queue',
    file: {
      ...sft,
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer:\n      storage_type: «queue\n      path: ./tasks.jsonl',
    },
    key: 'buffer.trainer_input.experience_buffer.storage_type',
    says: ['got "queue"', 'Use storage_type: file'],
  },
  {
    name: 'training without a batch size',
    file: {
      ...sft,
      buffer: '«buffer:\n  trainer_input:\n    experience_buffer:\n      path: ./tasks.jsonl',
    },
    key: 'buffer.train_batch_size',
    says: ['not set', 'for example 64'],
  },
  {
    name: 'supervised learning with a policy gradient',
    file: {
      top: 'mode: train',
      algorithm: 'algorithm:\n  algorithm_type: sft\n  policy_loss_fn: «ppo',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input: {experience_buffer: {path: ./tasks.jsonl}}',
    },
    key: 'algorithm.policy_loss_fn',
    says: ['needs advantages'],
  },
  {
    name: 'stored experiences that are not there',
    file: {
      top: 'mode: train',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer:\n      storage_type: sql\n      path: «sqlite:///none.db',
    },
    key: 'buffer.trainer_input.experience_buffer.path',
    says: ['there is no', 'earlier run'],
  },
  {
    name: 'experiences on a database server, without the tasks of explorers',
    file: {
      top: 'mode: train',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer:\n      storage_type: sql\n      path: «postgresql://u:hunter2@host/db',
    },
    key: 'buffer.trainer_input.experience_buffer.path',
    says: ['database server', 'Otherwise use sqlite:'],
  },
  {
    name: 'a database server of another kind',
    file: {
      buffer:
        'buffer:\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}\n  trainer_input:\n    experience_buffer:\n      storage_type: sql\n      path: «mysql://u:hunter2@host/db',
    },
    key: 'buffer.trainer_input.experience_buffer.path',
    says: ['mysql', 'not supported', 'sqlite:///'],
  },
  {
    name: 'a benchmark on nothing',
    file: { top: 'mode: bench', buffer: '«buffer:\n  batch_size: 1' },
    key: 'buffer.explorer_input.eval_tasksets',
    says: ['is empty', 'bench'],
  },

  {
    name: 'explorers beside a queue in memory',
    file: {
      buffer: `${taskset}      path: ./tasks.jsonl\n      default_workflow_type: w\n  trainer_input:\n    experience_buffer:\n      storage: «memory`,
      rest: 'cluster: { explorers: 2 }',
    },
    key: 'buffer.trainer_input.experience_buffer.storage',
    says: ['belongs to one process', 'cluster.explorers'],
  },
  {
    name: 'explorers beside stored experiences',
    file: {
      buffer: `${taskset}      path: ./tasks.jsonl\n      default_workflow_type: w\n  trainer_input:\n    experience_buffer:\n      path: my.db\n      storage_type: «sql`,
      rest: 'cluster: { explorers: 2 }',
    },
    key: 'buffer.trainer_input.experience_buffer.storage_type',
    says: ['"sql" reads stored experiences'],
  },
  {
    name: 'explorers of a stage',
    file: { rest: 'cluster: { explorers: «2 }\nstages:\n  - stage_name: a' },
    key: 'cluster.explorers',
    says: ['one process executes all stages of a file'],
  },

  // Stages
  {
    name: 'a stage without a name',
    file: { rest: 'stages:\n  - «mode: both' },
    key: 'stages[0].stage_name',
    says: ['is missing', 'sft_warmup'],
  },
  {
    name: 'two stages of one name',
    file: { rest: 'stages:\n  - stage_name: a\n  - stage_name: «a' },
    key: 'stages[1].stage_name',
    says: ['got "a"', 'Names must differ'],
  },
  {
    name: 'a mistake inside a stage',
    file: { rest: 'stages:\n  - stage_name: a\n    algorithm:\n      repeat_times: «0' },
    key: 'stages[0].algorithm.repeat_times',
    says: ['got 0', 'at least 1'],
  },
  {
    name: 'a stage with a key of the top level',
    file: { rest: 'stages:\n  - stage_name: a\n    «seed: 1' },
    key: 'stages[0].seed',
    says: ['unknown key', 'path seed'],
  },
];

const workflows = new Map<string, WorkflowFacts>([
  [
    'math_workflow',
    {
      checkArgs: (args) =>
        Object.keys(args).map((name) => ({
          path: [name],
          message: `the workflow has no argument "${name}".`,
        })),
    },
  ],
  ['judge_workflow', { needs: { auxiliaryModel: 'judge' } }],
  ['graded_workflow', { needs: { models: ({ models }) => models as readonly string[] } }],
  ['scored_workflow', { needs: { rewardFn: true } }],
]);
const rewards = new Map([
  [
    'math_reward',
    {
      create: (args: object) => {
        if ('scale' in args)
          throw new ConfigError('There is no argument "scale".', { details: { name: 'scale' } });
      },
    },
  ],
]);
const tableOf = <Facts>(map: ReadonlyMap<string, Facts>) => ({
  names: () => [...map.keys()],
  find: (name: string) => map.get(name),
});
const names: NameTables = { workflows: tableOf(workflows), rewardFns: tableOf(rewards) };

const input = 'buffer.explorer_input.';
const shared = (workflow: string, more = ''): { readonly buffer: string } => ({
  buffer: `buffer:\n  explorer_input:\n    default_workflow_type: ${workflow}\n    taskset:\n      path: ./tasks.jsonl${more}`,
});
const judge = 'explorer:\n  auxiliary_models:\n    - {name: expert, model_path: ./tiny}';

const wrongNames = [
  {
    name: 'a workflow that does not exist, named for all task sets',
    file: shared('«math_workflw'),
    key: `${input}default_workflow_type`,
    says: 'got "math_workflw", but there is no such workflow. Did you mean "math_workflow"?',
  },
  {
    name: 'a workflow that does not exist, named by the task set',
    file: shared('math_workflow', '\n      default_workflow_type: «chess'),
    key: `${input}taskset.default_workflow_type`,
    says: 'Known: graded_workflow, judge_workflow, math_workflow, scored_workflow. One of your own comes from a plugin',
  },
  {
    name: 'a workflow for evaluation that does not exist',
    file: shared(
      'math_workflow',
      '\n    default_eval_workflow_type: «chess\n    eval_tasksets:\n      - path: ./tasks.jsonl',
    ),
    key: `${input}default_eval_workflow_type`,
    says: 'got "chess", but there is no such workflow',
  },
  {
    name: 'a reward function that does not exist, named for all task sets',
    file: shared('math_workflow', '\n    default_reward_fn_type: «maths'),
    key: `${input}default_reward_fn_type`,
    says: 'got "maths", but there is no such reward function',
  },
  {
    name: 'an argument that the reward function does not have',
    file: shared(
      'math_workflow',
      '\n      default_reward_fn_type: math_reward\n      reward_fn_args:\n        scale: «2',
    ),
    key: `${input}taskset.reward_fn_args.scale`,
    says: 'There is no argument "scale".',
  },
  {
    name: 'an argument that the workflow does not have',
    file: shared('math_workflow', '\n      workflow_args: {depth: «2}'),
    key: `${input}taskset.workflow_args.depth`,
    says: 'the workflow has no argument "depth".',
  },
  {
    name: 'a workflow with a judge, without any auxiliary model',
    file: shared('«judge_workflow'),
    key: `${input}default_workflow_type`,
    says: 'asks an auxiliary model, but explorer.auxiliary_models is empty. Add one there.',
  },
  {
    name: 'a judge of another name',
    file: { ...shared('judge_workflow', '\n      workflow_args: {judge: «oracle}'), rest: judge },
    key: `${input}taskset.workflow_args.judge`,
    says: 'got "oracle", but explorer.auxiliary_models has expert.',
  },
  {
    name: 'a judge at a position that is not there',
    file: { ...shared('judge_workflow', '\n      workflow_args: {judge: «1}'), rest: judge },
    key: `${input}taskset.workflow_args.judge`,
    says: 'got 1, but explorer.auxiliary_models has expert.',
  },
  {
    name: 'a model in the arguments that is no auxiliary model',
    file: {
      ...shared('graded_workflow', '\n      workflow_args: «{models: [expert, exprt]}'),
      rest: judge,
    },
    key: `${input}taskset.workflow_args`,
    says: '"graded_workflow" asks the auxiliary model "exprt" with these arguments, but explorer.auxiliary_models has expert. Did you mean "expert"? Add one with name: exprt.',
  },
  {
    name: 'a workflow that scores, without a reward function',
    file: shared('«scored_workflow'),
    key: `${input}default_workflow_type`,
    says: 'Set default_reward_fn_type, for example math_reward.',
  },
  {
    name: 'brackets without end',
    file: { rest: `«log: ${'['.repeat(2000)}` },
    key: '',
    says: 'nested too deeply',
  },
  {
    name: 'several passes, and a replay buffer that decides by itself',
    file: {
      top: 'mode: train',
      buffer:
        'buffer:\n  total_epochs: «3\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer:\n      storage_type: sql\n      path: sqlite:///tasks.jsonl\n      replay_buffer: { enable: true }',
    },
    key: 'buffer.total_epochs',
    says: 'got 3, but a replay buffer decides by priority',
  },
  {
    name: 'a learning rate that ends with train steps that a replay buffer decides',
    file: {
      algorithm: 'algorithm:\n  optimizer: { lr_scheduler_type: «cosine }',
      buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {replay_buffer: {enable: true}}}`,
    },
    key: 'algorithm.optimizer.lr_scheduler_type',
    says: 'depends on what replay_buffer repeats. Set trainer.total_steps.',
  },
  {
    name: 'a learning rate of the critic that ends with train steps that a replay buffer decides',
    file: {
      algorithm: 'algorithm: {algorithm_type: ppo}',
      buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {replay_buffer: {enable: true}}}`,
      rest: 'trainer:\n  trainer_config:\n    critic:\n      optim: {lr_scheduler_type: «cosine}',
    },
    key: 'trainer.trainer_config.critic.optim.lr_scheduler_type',
    says: 'depends on what replay_buffer repeats. Set trainer.total_steps.',
  },
  {
    name: 'a warm-up that is a share of train steps that calls decide',
    file: {
      algorithm: 'algorithm:\n  optimizer: { lr_warmup_steps_ratio: «0.1 }',
      buffer: `${parts.buffer}\n  train_batch_unit: experiences`,
    },
    key: 'algorithm.optimizer.lr_warmup_steps_ratio',
    says: 'Set trainer.total_steps, or lr_warmup_steps.',
  },
  {
    name: 'an argument that a priority function does not have',
    file: {
      top: 'mode: train',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input:\n    experience_buffer:\n      storage_type: sql\n      path: sqlite:///tasks.jsonl\n      replay_buffer: { enable: true, priority_fn_args: { «sigma: 1 } }',
    },
    key: 'buffer.trainer_input.experience_buffer.replay_buffer.priority_fn_args.sigma',
    says: 'decay',
  },
] as const;

describe('a broken configuration is reported with its position and a fix', () => {
  it.each(cases)('$name', ({ file, key, says, env = {} }) => {
    const marked = typeof file === 'string' ? file : yaml(file);
    const before = marked.slice(0, marked.indexOf('«')).split('\n');
    const found = problems(cwd, marked.replace('«', ''), { env });
    expect(
      found.map((problem) => ({ key: problem.key, line: problem.line, column: problem.column })),
    ).toEqual([{ key, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }]);
    for (const part of says) expect(found[0]?.message).toContain(part);
  });

  it.each(wrongValues)('%s: %s', (path, value, says) => {
    const marked = yaml(fileWith(path, value));
    const line = marked.slice(0, marked.indexOf('«')).split('\n').length;
    const before = marked.split('\n')[line - 1]?.split('«')[0] ?? '';
    const found = problems(cwd, marked.replace('«', ''), names);
    expect(found.map(({ message }) => message)).toEqual([expect.stringContaining(says)]);
    // The value, or its key where the whole key is not supported.
    const columns = [
      before.length + 1,
      before.search(/\S/) + 1,
      before.length + 1 + value.indexOf('1]'),
    ];
    expect(found[0]?.line).toBe(line);
    expect(columns).toContain(found[0]?.column);
  });

  it.each(wrongNames)('$name', ({ file, key, says }) => {
    const marked = yaml(file);
    const before = marked.slice(0, marked.indexOf('«')).split('\n');
    const found = problems(cwd, marked.replace('«', ''), names);
    expect(found.map((problem) => [problem.key, problem.line, problem.column])).toEqual([
      [key, before.length, (before.at(-1)?.length ?? 0) + 1],
    ]);
    expect(found[0]?.message).toContain(says);
  });

  it('has more than 200 of them, each another one', () => {
    const all = [
      ...cases.map(({ name }) => name),
      ...wrongNames.map(({ name }) => name),
      ...wrongValues.map(([path, value]) => `${path}: ${value}`),
    ];
    expect(all.length).toBeGreaterThanOrEqual(200);
    expect(new Set(all).size).toBe(all.length);
  });
});
