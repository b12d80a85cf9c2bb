/** Wrong values for keys of a valid file, with the expected messages. */
import { parts } from './workspace.js';

type WrongValue = readonly [path: string, value: string, says: string];

const taskset = 'buffer.explorer_input.taskset.';

/** Returns the sections with the value in them. `«` marks the place of the value. */
export function fileWith(path: string, value: string): Partial<typeof parts> {
  const marked = `«${value}`;
  if (path.startsWith(taskset))
    return {
      buffer: `${parts.buffer}\n${nested(path.slice(taskset.length).split('.'), marked, 6)}`,
    };
  const [section = '', ...keys] = path.split('.');
  const own = new RegExp(`(?<=^  ${keys[0]}: ).*`, 'm');
  if ((section === 'model' || section === 'algorithm') && own.test(parts[section]))
    return { [section]: parts[section].replace(own, marked) };
  if (section === 'model' || section === 'algorithm')
    return { [section]: `${parts[section]}\n${nested(keys, marked, 2)}` };
  if (section === 'buffer')
    return { buffer: parts.buffer.replace('buffer:', `buffer:\n${nested(keys, marked, 2)}`) };
  return { rest: nested([section, ...keys], marked, 0) };
}

function nested([key = '', ...rest]: readonly string[], value: string, indent: number): string {
  const line = `${' '.repeat(indent)}${key}:`;
  return rest.length === 0 ? `${line} ${value}` : `${line}\n${nested(rest, value, indent + 2)}`;
}

/**
 * For each wrong value: the key and the value, and in the next line the beginning of the message.
 */
const table = `
mode: both_at_once
  got "both_at_once", expected one of both, explore, train, bench, serve, colo
project: ''
  got "", expected text that is not empty.
group: ../up
  got "../up", which leads out of its folder. It becomes part of a path: use l
name: ''
  got "", expected text that is not empty.
name: a/../b
  got "a/../b", which leads out of its folder. It becomes part of a path: use 
name: "x. "
  got "x. ", which has a part that ends with a dot or a space, which Windows lea
name: CON
  got "CON", which has a part that names a device on Windows. It becomes part of 
name: "a:b"
  got "a:b", which holds a character that file names do not allow. It becomes 
seed: -1
  got -1, expected a whole number, at least 0 and at most 4294967295.
seed: 1.5
  got 1.5, expected a whole number, at least 0 and at most 4294967295.
seed: 4294967296
  got 4294967296, expected a whole number, at least 0 and at most 4294967295.
continue_from_checkpoint: maybe
  got "maybe", expected true or false.
checkpoint_root_dir: ./tasks.jsonl
  got "./tasks.jsonl", which is a file. Give a folder; it is created when it d
algorithm.algorithm_type: [grpo]
  got ["grpo"], expected one of
algorithm.algorithm_type: cod
  got "cod", which is not supported. It compares runs across tasks
algorithm.repeat_times: 0
  got 0, expected a whole number, at least 1.
algorithm.repeat_times: many
  got "many", expected a whole number, at least 1.
algorithm.repeat_times: 2.5
  got 2.5, expected a whole number, at least 1.
algorithm.optimizer.lr: 0
  got 0, expected a number, above 0.
algorithm.optimizer.lr: -1e-6
  got -0.000001, expected a number, above 0.
algorithm.optimizer.lr: fast
  got "fast", expected a number, above 0.
algorithm.optimizer.lr_warmup_steps: 1.5
  got 1.5, expected a whole number.
algorithm.optimizer.lr_warmup_steps_ratio: 1.1
  got 1.1, expected a number, at least 0 and at most 1.
algorithm.optimizer.min_lr_ratio: -0.1
  got -0.1, expected a number, at least 0 and at most 1.
algorithm.optimizer.lr_scheduler_type: linear
  got "linear", expected one of constant, cosine.
algorithm.optimizer.optimizer_type: lion
  got "lion", expected one of adam, adamw, sgd.
algorithm.optimizer.optimizer_type: sgd
  got "sgd", which is not supported. Use adam.
algorithm.optimizer.betas: 0.9
  got 0.9, expected a list of two numbers from 0 to below 1. Write it as [a, b
algorithm.optimizer.betas: [0.9, 1]
  got 1, expected a number, at least 0 and below 1.
algorithm.optimizer.weight_decay: -1
  got -1, expected a number, at least 0.
algorithm.optimizer.clip_grad: -1
  got -1, expected a number, at least 0.
algorithm.advantage_fn: grop
  got "grop", expected one of grpo, step_wise_grpo, gigpo, ppo, reinforceplusp
algorithm.advantage_fn_args.epsilon: -1
  got -1, expected a number, at least 0.
algorithm.advantage_fn_args.epsilom: 1
  unknown key "epsilom". Did you mean "epsilon"?
algorithm.policy_loss_fn: pppo
  got "pppo", expected one of ppo, gspo, cispo, sapo, topr, opmd, sppo, rec, m
algorithm.policy_loss_fn_args.clip_range: -0.1
  got -0.1, expected a number, at least 0.
algorithm.policy_loss_fn_args.clip_range: wide
  got "wide", expected a number, at least 0.
algorithm.kl_loss_fn: k9
  got "k9", expected one of none, k1, k2, k3, low_var_kl, abs, corrected_k3. D
algorithm.kl_loss_fn_args.kl_coef: -1
  got -1, expected a number, at least 0.
algorithm.entropy_loss_fn: max
  got "max", expected one of default, mix, none. Did you mean "mix"?
algorithm.entropy_loss_fn_args.entropy_coef: lots
  got "lots", expected a number.
algorithm.sample_strategy: mixed
  got "mixed", expected one of default, warmup, staleness_control, mix.
algorithm.loss_agg_mode: mean
  got "mean", expected one of token-mean, seq-mean-token-sum, seq-mean-token-m
model.model_path: ./no-config
  has no readable config.json. Give the folder
model.model_path: ./bad-json
  has a config.json that is not JSON
model.model_path: ./bad-shape
  has a config.json without a valid hidden_size
model.model_path: ./nowhere
  got "./nowhere", but there is no
model.model_path: ~/model
  "~" is not expanded; write \${oc.env:HOME} instead.
model.model_path: [a]
  got ["a"], expected text.
model.critic_model_path: ./nowhere
  got "./nowhere", but there is no 
model.critic_model_path: ./no-config
  got "./no-config": 
model.chat_template_path: ./none.jinja
  got "./none.jinja", but 
model.temperature: -0.1
  got -0.1, expected a number, at least 0.
model.temperature: hot
  got "hot", expected a number, at least 0.
model.top_p: 0
  got 0, expected a number, above 0 and at most 1.
model.top_p: 1.1
  got 1.1, expected a number, above 0 and at most 1.
model.top_k: -2
  got -2, expected a whole number, at least -1.
model.logprobs: 21
  got 21, expected a whole number, at least 0 and at most 20.
model.max_model_len: 1
  got 1, expected a whole number, at least 2.
model.max_model_len: 1024
  asks for sequences of 1024 tokens, but the model has positions for 512. Lowe
model.max_prompt_tokens: 0
  got 0, expected a whole number, at least 1.
model.max_prompt_tokens: 512
  got 512, which leaves nothing of the 512 positions of the model for the rest
model.max_response_tokens: 0
  got 0, expected a whole number, at least 1.
model.max_response_tokens: 600
  got 600, which leaves nothing of the 512 positions of the model for the rest
model.min_response_tokens: -1
  got -1, expected a whole number, at least 0.
model.min_response_tokens: 400
  got 400, expected less than max_response_tokens, which is 256.
model.enable_thinking: perhaps
  got "perhaps", expected true or false.
model.threads: 0
  got 0, expected a whole number, at least 1 and at most 1024.
model.memory_budget_mb: 0
  got 0, expected a whole number, at least 16.
buffer.batch_size: 0
  got 0, expected a whole number, at least 1.
buffer.batch_size: two
  got "two", expected a whole number, at least 1.
buffer.batch_size: 1.5
  got 1.5, expected a whole number, at least 1.
buffer.batch_size: [1]
  got [1], expected a whole number, at least 1. Is something indented too far?
buffer.train_batch_size: -1
  got -1, expected a whole number, at least 0.
buffer.total_epochs: 0
  got 0, expected a whole number, at least 1.
buffer.total_epochs: all
  got "all", expected a whole number, at least 1.
buffer.total_steps: 0
  got 0, expected a whole number, at least 1.
buffer.trainer_input.experience_buffer.storage_type: redis
  got "redis", expected one of queue, sql, file.
buffer.trainer_input.experience_buffer.storage: disk
  got "disk", expected one of sqlite, memory.
buffer.trainer_input.experience_buffer.capacity: 0
  got 0, expected a whole number, at least 1.
buffer.trainer_input.experience_buffer.max_read_timeout: 0
  got 0, expected a number, above 0.
buffer.trainer_input.experience_buffer.name: a/../b
  got "a/../b", which leads out of its folder. It becomes part of a path: use 
buffer.trainer_input.experience_buffer.replay_buffer.reuse_cooldown_time: -1
  got -1, expected a number, at least 0.
buffer.explorer_input.taskset.path2: x
  unknown key "path2". Did you mean "path"?
buffer.explorer_input.taskset.split: [train]
  got ["train"], expected text. Is something indented too far?
buffer.explorer_input.taskset.storage_type: queue
  got "queue", which is not supported. Use file, or sql for a database.
buffer.explorer_input.taskset.storage_type: csv
  got "csv", expected one of file, sql, generated, queue.
buffer.explorer_input.taskset.name: "a|b"
  got "a|b", which holds a character that file names do not allow. It becomes 
buffer.explorer_input.taskset.default_reward_fn_type: math_rewards
  got "math_rewards", but there is no such reward function. Did you mean "math_reward"?
buffer.explorer_input.taskset.default_reward_fn_type: [math_reward]
  got ["math_reward"], expected text. Is something indented too far?
buffer.explorer_input.taskset.format.prompt_key: [q]
  got ["q"], expected text. Is something indented too far?
buffer.explorer_input.taskset.format.prompt_type: chatml
  got "chatml", expected one of messages, plaintext.
buffer.explorer_input.taskset.format.image_key: picture
  got "picture", which is not supported. Only text can be trained.
buffer.explorer_input.taskset.format.video_key: film
  got "film", which is not supported. Only text can be trained.
buffer.explorer_input.taskset.rollout_args.temperature: -1
  got -1, expected a number, at least 0.
buffer.explorer_input.taskset.rollout_args.top_p: 2
  got 2, expected a number, above 0 and at most 1.
buffer.explorer_input.taskset.rollout_args.max_tokens: 0
  got 0, expected a whole number, at least 1.
buffer.explorer_input.taskset.rollout_args.max_tokens: 512
  got 512, which leaves no room for a prompt within model.max_model_len, 512.
buffer.explorer_input.taskset.data_selector.selector_type: hardest
  got "hardest", expected one of sequential, shuffle, random, offline_easy2har
buffer.explorer_input.taskset.data_selector.selector_type: difficulty_based
  difficulty_based needs two feature_keys, and there are 0. Name the columns w
buffer.explorer_input.taskset.data_selector.seed: -1
  got -1, expected a whole number, at least 0 and at most 4294967295.
buffer.explorer_input.taskset.workflow_args: [a]
  got ["a"], expected a section of keys of your own. Remove the "- " before it
buffer.explorer_input.taskset.workflow_args.use_base: true
  the workflow has no argument "use_base".
buffer.explorer_input.taskset.workflow_args.max_turns: 3
  the workflow has no argument "max_turns".
buffer.explorer_input.taskset.reward_fn_args: 3
  got 3, expected a section of keys of your own. Put its keys on lines below, 
explorer.runner_per_model: 0
  got 0, expected a whole number, at least 1.
explorer.max_timeout: 0
  got 0, expected a number, above 0.
explorer.max_retry_times: -1
  got -1, expected a whole number, at least 0.
explorer.failure_reward: low
  got "low", expected a number.
explorer.experience_shape: tree
  got "tree", expected one of step, trajectory.
explorer.reasoning_history: drop
  got "drop", expected one of as-sent, restore.
explorer.constrained_decoding: 2
  got 2, expected true or false.
explorer.eval_interval: -1
  got -1, expected a whole number, at least 0.
explorer.env_vars: [a]
  got ["a"], expected a section of keys of your own. Remove the "- " before it
explorer.env_vars.A: [1]
  got [1], expected text.
explorer.over_rollout.ratio: 1
  got 1, expected a number, at least 0 and below 1.
explorer.dynamic_timeout.ratio: 0
  got 0, expected a number, above 0.
explorer.environment_failures.max_in_row: 0
  got 0, expected a whole number, at least 1.
explorer.dynamic_sampling.max_batches: 0
  got 0, expected a whole number, at least 1.
explorer.max_task_timeout: 0
  got 0, expected a number, above 0.
explorer.max_inflight_batches: 0
  got 0, expected a whole number, at least 1.
explorer.rollout_model.engine_type: llama.cpp
  got "llama.cpp", expected one of onnx, vllm, sglang, tinker, external.
explorer.rollout_model.max_model_len: 1024
  asks for sequences of 1024 tokens, but texts longer than model.max_model_len, 512, cannot be trained 
explorer.rollout_model.tool_call_parser: toml
  got "toml", which is not supported. Supported: auto, functiongemma, gemma4,
explorer.rollout_model.tool_prompt: xml
  got "xml", which is not supported. Supported: generic.
explorer.rollout_model.reasoning_parser: qwen9
  got "qwen9", which is not supported. Supported: auto, deepseek_r1, gemma4, mistral, qwen3.
explorer.rollout_model.enable_auto_tool_choice: true
  got true, but tool_call_parser is not set, so no tool call would be read fro
explorer.rollout_model.ignore_eos: true
  got true, which is not supported. Set min_response_tokens to the length that
explorer.auxiliary_models: judge
  got "judge", expected a list, each item a section of keys. Write it as [a, b
trainer.trainer_type: jax
  got "jax", expected one of onnx, verl, tinker.
trainer.trainer_type: tinker
  got "tinker", which is not supported. Use onnx.
trainer.save_interval: -1
  got -1, expected a whole number, at least 0.
trainer.total_steps: 0
  got 0, expected a whole number, at least 1.
trainer.save_hf_checkpoint: sometimes
  got "sometimes", expected one of last, always, never.
trainer.grad_clip: -1
  got -1, expected a number, at least 0.
trainer.critic_warmup: -1
  got -1, expected a whole number, at least 0.
trainer.max_checkpoints_to_keep: -1
  got -1, expected a whole number, at least 0.
trainer.trainer_config_path: verl.yaml
  got "verl.yaml", which is not supported. Remove it, and set algorithm.optimi
trainer.trainer_strategy: ddp
  got "ddp", expected one of fsdp, fsdp2, megatron.
synchronizer.sync_method: pigeon
  got "pigeon", expected one of memory, checkpoint, nccl.
synchronizer.max_staleness: -1
  got -1, expected a whole number, at least 0.
synchronizer.sync_style: async
  got "async", expected one of fixed, explorer_driven, trainer_driven, fully_a
synchronizer.sync_interval: 0
  got 0, expected a whole number, at least 1.
synchronizer.sync_offset: -1
  got -1, expected a whole number, at least 0.
synchronizer.sync_timeout: 0
  got 0, expected a number, above 0.
monitor.monitor_type: paper
  got "paper", expected one of tensorboard, jsonl, console, wandb, mlflow, swa
monitor.detailed_stats: 2
  got 2, expected true or false.
log.level: LOUD
  got "LOUD", expected one of DEBUG, INFO, WARNING, ERROR.
log.levels: INFO
  unknown key "levels". Did you mean "level"?
data_processor.experience_pipeline.operators: reward_filter
  got "reward_filter", expected a list, each item a section of keys. Write it 
data_processor.experience_pipeline.input_save_path: x.jsonl
  got "x.jsonl", which is not supported. Experiences are kept in the buffer of
cluster.node_num: -1
  got -1, expected a whole number, at least 0.
service.data_juicer.port: 70000
  got 70000, expected a whole number, at least 0 and at most 65535.
stages: warmup
  got "warmup", expected a list, each item a section of keys. Write it as [a, 
__proto__: 1
  unknown key "__proto__". There is no such key in the top level; remove it, o
constructor: 1
  unknown key "constructor". There is no such key in the top level; remove it,
toString: 1
  unknown key "toString". There is no such key in the top level; remove it, or
`;

export const wrongValues = [...table.matchAll(/^(\S+): (.*)\n {2}(.*)$/gm)].map(
  ([, path = '', value = '', says = '']): WrongValue => [path, value, says],
);
