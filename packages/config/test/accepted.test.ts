/** Files of Trinity-RFT that run, with their warnings. */
import { builtInTables } from '@trinity-rft/algorithm';
import { describe, expect, it } from 'vitest';
import { schemasOf } from '../src/schema/root.js';
import { createWorkspace, engines, parse, parts, yaml } from './workspace.js';

const cwd = createWorkspace();

interface Accepted {
  readonly file: Partial<typeof parts>;
  /** Parts of the only warning, such as its key; undefined for no warning. */
  readonly warns?: readonly string[];
}

/** Returns a file with a key of a section that is off. */
function switchedOff(section: string, set: string): Accepted['file'] {
  if (section === 'replay_buffer')
    return {
      buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {replay_buffer: {${set}}}}`,
    };
  if (section === 'rollout_correction')
    return { algorithm: `${parts.algorithm}\n  rollout_correction: {bypass_mode: false, ${set}}` };
  if (section === 'data_selector')
    return { buffer: `${parts.buffer}\n      data_selector: {selector_type: shuffle, ${set}}` };
  const [top, ...inner] = section.split('.');
  const nested = inner.reduceRight((text, name) => `{${name}: ${text}}`, `{${set}}`);
  return top === 'model'
    ? { model: `model:\n  model_path: ./tiny\n  ${nested.slice(1, -1)}` }
    : { rest: `${top}: ${nested}` };
}

/** Returns the sections of a file for supervised data, with further keys of the buffer. */
const supervisedFile = (more: string): Accepted['file'] => ({
  top: 'mode: train',
  algorithm: 'algorithm: {algorithm_type: sft}',
  buffer: `buffer:\n  train_batch_size: 1\n  trainer_input: {experience_buffer: {path: tasks.jsonl${more}}}`,
});

const accepted: Readonly<Record<string, Accepted>> = {
  'the address of a database server, in one process': {
    file: {
      buffer:
        'buffer:\n  explorer_input: {taskset: {path: ./tasks.jsonl, default_workflow_type: w}}\n  trainer_input:\n    experience_buffer: {storage_type: sql, path: "postgresql://u:hunter2@host/db"}',
    },
    warns: ['buffer.trainer_input.experience_buffer.path', '--explorers N'],
  },
  'raft with one run per task, all of which are kept': {
    file: {
      algorithm:
        'algorithm:\n  algorithm_type: raft\n  repeat_times: 1\n  advantage_fn_args: {keep: all}',
    },
    warns: ['algorithm.', 'imitates every answer'],
  },
  'raft that keeps all runs above a reward': {
    file: {
      algorithm:
        'algorithm: {algorithm_type: raft, advantage_fn_args: {keep: all, min_reward: 0.5}}',
    },
  },
  'a model that takes images, with a text part': {
    file: { model: 'model:\n  model_path: ./sees-and-reads' },
  },
  'a judge whose texts are shorter than prompt and response together': {
    file: {
      rest: 'explorer:\n  auxiliary_models:\n    - {name: judge, model_path: ./tiny, max_model_len: 64, max_prompt_tokens: 60, max_response_tokens: 30}',
    },
    warns: ['explorer.auxiliary_models[0].max_model_len', '64 is less than'],
  },
  'a server of Data-Juicer that nothing uses': {
    file: { rest: 'service:\n  data_juicer: {auto_start: true}' },
    warns: ['service.data_juicer', 'run in the process of the run'],
  },
  'bypass_old_logprobs, which is read elsewhere': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  bypass_old_logprobs: true',
    },
    warns: ['algorithm.bypass_old_logprobs', 'is read as algorithm.rollout_correction.bypass_mode'],
  },
  'the rollout correction of verl, which is read elsewhere': {
    file: {
      rest: 'trainer:\n  trainer_config:\n    algorithm: {rollout_correction: {bypass_mode: false}}',
    },
    warns: [
      'trainer.trainer_config.algorithm.rollout_correction',
      'is read as algorithm.rollout_correction',
    ],
  },
  ...Object.fromEntries(
    [
      [
        'tasksets[0]',
        '{path: tasks.jsonl, task_count: 5}',
        'task_count',
        'storage_type: generated',
      ],
      ['tasksets[0]', '{path: tasks.jsonl, task_seed: 5}', 'task_seed', 'storage_type: generated'],
      ['tasksets[0]', '{path: tasks.jsonl, table: t}', 'table', 'storage_type: sql'],
      ['tasksets[0]', '{path: tasks.jsonl, query: q}', 'query', 'storage_type: sql'],
      [
        'eval_tasksets[0]',
        '{path: tasks.jsonl, data_selector: {selector_type: shuffle}}',
        'data_selector',
        'Evaluations take every row',
      ],
    ].map(([place = '', set, key, text = '']): [string, Accepted] => [
      `${key} of ${place}, which does not read it`,
      {
        file: {
          buffer: `buffer:\n  explorer_input:\n    default_workflow_type: w\n    tasksets: [${place === 'tasksets[0]' ? set : '{path: tasks.jsonl}'}]\n    eval_tasksets: [${place === 'tasksets[0]' ? '' : set}]`,
        },
        warns: [`buffer.explorer_input.${place}.${key}`, text],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ['trainer:\n  critic_warmup: 2', 'trainer.critic_warmup'],
      [
        'trainer:\n  trainer_config: {critic: {optim: {lr: 1e-4}}}',
        'trainer.trainer_config.critic',
      ],
      ['', 'model.critic_model_path'],
    ].map(([rest = '', key = '']): [string, Accepted] => [
      `${key} of an algorithm without a critic`,
      {
        file: {
          rest,
          ...(rest === '' && {
            model: 'model:\n  model_path: ./tiny\n  critic_model_path: ./tiny',
          }),
        },
        warns: [key, 'grpo has no critic'],
      },
    ]),
  ),
  'a range of values that no update leaves': {
    file: {
      algorithm: 'algorithm: {algorithm_type: ppo}',
      model: 'model:\n  model_path: ./tiny\n  critic_model_path: ./tiny',
      rest: 'trainer: {trainer_config: {critic: {cliprange_value: 0.2}}}',
    },
    warns: ['critic.cliprange_value: ignored (0.2)', 'Only 0 differs'],
  },
  'answers that are to be longer than the limit': {
    file: {
      model: 'model: {model_path: ./tiny, max_response_tokens: 8}',
      buffer: `${parts.buffer}\n      rollout_args: {max_tokens: 60}`,
    },
    warns: [
      'taskset.rollout_args.max_tokens: got 60, but no answer is longer than model.max_response_tokens, 8',
    ],
  },
  ...Object.fromEntries(
    (['tool_call_parser: hermes', 'tool_prompt: generic'] as const).map(
      (set): [string, Accepted] => [
        `a switch of tool calls that ${set} overrules`,
        {
          file: {
            rest: `explorer: {rollout_model: {enable_auto_tool_choice: false, ${set}}}`,
          },
          warns: [
            'rollout_model.enable_auto_tool_choice: ignored',
            `because ${set.split(':')[0]} is set`,
          ],
        },
      ],
    ),
  ),
  'greedy runs of a task that are compared': {
    file: { model: 'model: {model_path: ./tiny, temperature: 0}' },
    warns: ['model.temperature: got 0', 'the same answers'],
  },
  'layers of several families, some of them not meant': {
    file: {
      model:
        'model:\n  model_path: ./tiny\n  lora_configs: [{target_modules: [q_proj, qkv_proj], exclude_modules: [qkv_proj]}]',
    },
  },
  'a layer of other models beside all layers': {
    file: {
      model:
        'model:\n  model_path: ./tiny\n  lora_configs: [{target_modules: [all-linear, qkv_proj]}]',
    },
  },
  'greedy runs that are not compared': {
    file: {
      algorithm: 'algorithm: {algorithm_type: ppo}',
      model: 'model: {model_path: ./tiny, critic_model_path: ./tiny, temperature: 0}',
    },
  },
  'a share of steps beside a number of steps': {
    file: {
      algorithm:
        'algorithm: {algorithm_type: grpo, optimizer: {lr_warmup_steps: 5, lr_warmup_steps_ratio: 0.1}}',
    },
    warns: ['optimizer.lr_warmup_steps_ratio: ignored', 'lr_warmup_steps, 5, decides'],
  },
  ...Object.fromEntries(
    ['sft', 'sft_is', 'sft_phi'].map((loss): [string, Accepted] => [
      `the policy loss ${loss}, which imitates wrong answers too`,
      {
        file: { algorithm: `algorithm: {algorithm_type: grpo, policy_loss_fn: ${loss}}` },
        warns: ['algorithm.policy_loss_fn: ', `"${loss}" imitates every answer`],
      },
    ]),
  ),
  'a loss that imitates what an operator leaves': {
    file: {
      algorithm: 'algorithm: {algorithm_type: grpo, policy_loss_fn: sft, advantage_fn: raft}',
      rest: 'data_processor: {experience_pipeline: {operators: [{name: reward_filter, args: {threshold: 0.5}}]}}',
    },
  },
  ...Object.fromEntries(
    [
      [
        '{name: reward_filter, args: {threshold: 0.5}}',
        'operators[0].name: drops runs with a reward below 0.5 before grpo',
      ],
      [
        '{name: overlong_penalty, args: {max_response_length: 500}}',
        'operators[0].args.max_response_length: got 500, so only answers of more than 500 tokens',
      ],
      ['{name: pass_rate_calculator}', 'operators[0].name: tells pass rates to selectors'],
      [
        '{name: reward_filter}, {name: reward_filter, args: {threshold: 0.5}}',
        'operators[1].name: drops runs with a reward below 0.5 before grpo',
      ],
      ['{name: reward_filter}', ''],
      [
        '{name: overlong_penalty, args: {max_response_length: max_response_tokens, cache_length: 4}}',
        '',
      ],
    ].map(([operator = '', warns = '']): [string, Accepted] => [
      `the operator ${operator}`,
      {
        file: { rest: `data_processor: {experience_pipeline: {operators: [${operator}]}}` },
        ...(warns !== '' && { warns: [warns] }),
      },
    ]),
  ),
  'a seed of rows to imitate that are taken in their order': {
    file: supervisedFile(', data_selector: {seed: 1}'),
    warns: ['experience_buffer.data_selector.seed: ignored', 'shuffle and random'],
  },
  'a seed of tasks that are taken in their order': {
    file: { buffer: `${parts.buffer}\n      data_selector: {seed: 1}` },
    warns: ['taskset.data_selector.seed: ignored', 'shuffle, random, difficulty_based'],
  },
  'experts that no sample strategy takes': {
    file: {
      buffer: `${parts.buffer}\n  trainer_input: {auxiliary_buffers: {sft_dataset: {path: tasks.jsonl}}}`,
    },
    warns: ['buffer.trainer_input.auxiliary_buffers', 'Only the sample strategy mix'],
  },
  ...Object.fromEntries(
    ['split: test', 'subset_name: a', 'format: {prompt_key: q}', 'data_selector: {seed: 1}'].map(
      (set): [string, Accepted] => [
        `${set} of a store`,
        {
          file: {
            buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {${set}}}`,
          },
          warns: [
            `buffer.trainer_input.experience_buffer.${set.split(':')[0]}`,
            'It is for rows of a data set',
          ],
        },
      ],
    ),
  ),
  ...Object.fromEntries(
    ['capacity: 5', 'storage: memory', 'max_read_timeout: 5'].map((set): [string, Accepted] => [
      `${set} of supervised data`,
      {
        file: supervisedFile(`, ${set}`),
        warns: [
          `buffer.trainer_input.experience_buffer.${set.split(':')[0]}`,
          'It is for experiences',
        ],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ['model.external_model', 'model_name: gpt-4o', 'external_model.enable'],
      ['model.external_model', 'base_url_env: URL', 'external_model.enable'],
      ['model.external_model', 'api_key_env: KEY', 'external_model.enable'],
      [
        'explorer.rollout_model.external_model_config',
        'model_name: gpt-4o',
        'external_model_config.enable',
      ],
      ['explorer.dynamic_timeout', 'warmup_min_steps: 2', 'dynamic_timeout.enable'],
      ['explorer.dynamic_timeout', 'ratio: 4', 'dynamic_timeout.enable'],
      ['explorer.dynamic_sampling', 'max_batches: 4', 'dynamic_sampling.enable'],
      ['explorer.over_rollout', 'wait_after_min: 4', 'over_rollout.ratio'],
      ['explorer.over_rollout', 'return_partial_tasks: true', 'over_rollout.ratio'],
      ['replay_buffer', 'priority_fn: decay_limit_randomization', 'replay_buffer.enable'],
      ['replay_buffer', 'priority_fn_args: {nonsense: 1}', 'replay_buffer.enable'],
      ['replay_buffer', 'reuse_cooldown_time: 1', 'replay_buffer.enable'],
      ['rollout_correction', 'rollout_is_threshold: 3', 'rollout_correction.rollout_is'],
      ['rollout_correction', 'rollout_is_batch_normalize: true', 'rollout_correction.rollout_is'],
      ['rollout_correction', 'rollout_rs_threshold: 3', 'rollout_correction.rollout_rs'],
      ['data_selector', 'feature_keys: [a]', 'offline_easy2hard, difficulty_based'],
      ['data_selector', 'kwargs: {nonsense: 1}', 'selector_type: difficulty_based'],
    ].map(([section = '', set = '', needs = '']): [string, Accepted] => [
      `${set} of ${section}, which is off`,
      {
        file: switchedOff(section, set),
        warns: [`${section.split('.').at(-1)}.${set.split(':')[0]}`, needs],
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ['queue, storage: memory, path: ./data.db', 'path'],
      ['queue, storage: memory, keep_trained_steps: 2', 'keep_trained_steps'],
      ['queue, storage: memory, path: "postgresql://host/db"', 'path'],
      ['sql, storage: memory', 'storage'],
    ].map(([set, key]): [string, Accepted] => [
      `${key} of storage_type: ${set}`,
      {
        file: {
          buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {storage_type: ${set}}}`,
        },
        warns: [`experience_buffer.${key}: ignored.`],
      },
    ]),
  ),
  'a place where the processes of a run meet, whatever one process would use': {
    file: {
      buffer: `${parts.buffer}\n  trainer_input: {experience_buffer: {storage: memory, path: "postgresql://host/db", keep_trained_steps: 2}}`,
      rest: 'cluster: {explorers: 2}',
    },
  },
  'the size of an explore step in mode train': {
    file: {
      ...supervisedFile(''),
      buffer: supervisedFile('').buffer!.replace('_size: 1', '_size: 1\n  batch_size: 9'),
    },
    warns: ['buffer.batch_size: ignored. In mode train nothing is explored'],
  },
  'the size of an explore step in mode train that gives the size of a train step': {
    file: {
      ...supervisedFile(''),
      buffer: supervisedFile('').buffer!.replace('train_batch_size: 1', 'batch_size: 9'),
    },
  },
  'the runs of a task of supervised rows': {
    file: { ...supervisedFile(''), algorithm: 'algorithm: {algorithm_type: dpo, repeat_times: 2}' },
    warns: ['algorithm.repeat_times: ignored. In mode train nothing is explored'],
  },
  'the room of experiences that are all stored already': {
    file: {
      top: 'mode: train',
      algorithm: 'algorithm: {algorithm_type: grpo, repeat_times: 4}',
      buffer:
        'buffer:\n  train_batch_size: 4\n  trainer_input: {experience_buffer: {storage_type: sql, path: tasks.jsonl, capacity: 5}}',
    },
    warns: ['experience_buffer.capacity: ignored. In mode train nothing is explored'],
  },
  'a part that the file itself switches off': {
    file: { rest: 'explorer: {dynamic_timeout: {enable: false, ratio: 4}}' },
  },
  'a part that the file itself switches off with null': {
    file: {
      algorithm:
        'algorithm:\n  rollout_correction: {bypass_mode: false, rollout_is: null, rollout_is_threshold: 3}',
    },
  },
  'defaults and empty values of parts that are off': {
    file: {
      buffer: `${parts.buffer}
      data_selector: {selector_type: sequential, feature_keys: [], kwargs: {}}
  trainer_input: {auxiliary_buffers: {}, experience_buffer: {format: {prompt_key: prompt}, replay_buffer: {priority_fn: linear_decay, priority_fn_args: {decay: 2.0}}}}`,
      rest: 'explorer: {dynamic_timeout: {ratio: 3}, over_rollout: {wait_after_min: 30}}\ntrainer: {trainer_config: {critic: {}}}',
    },
  },
  'defaults and empty values of what mode train does not do': {
    file: {
      ...supervisedFile(''),
      rest: 'explorer: {eval_interval: 100, eval_on_startup: false, dynamic_sampling: {max_batches: 10}}\nsynchronizer: {sync_style: fixed, sync_interval: 1}',
    },
  },
  'further tasks of mode train': {
    file: { ...supervisedFile(''), rest: 'explorer: {dynamic_sampling: {max_batches: 3}}' },
    warns: ['dynamic_sampling.max_batches', 'In mode train no further tasks are drawn'],
  },
  'the replay of supervised rows': {
    file: supervisedFile(', replay_buffer: {reuse_cooldown_time: 3}'),
    warns: ['replay_buffer.reuse_cooldown_time', 'as often as total_epochs says'],
  },
  'the rollout correction of supervised rows': {
    file: {
      ...supervisedFile(''),
      algorithm: 'algorithm: {algorithm_type: sft, rollout_correction: {rollout_is: token}}',
    },
    warns: ['rollout_correction.rollout_is', 'sft learns from answers that were not sampled'],
  },
  'what only explorers read in mode train': {
    file: {
      ...supervisedFile(''),
      model: 'model: {model_path: ./tiny, external_model: {model_name: gpt}}',
    },
  },
  'the batches of dapo, which samples dynamically': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: dapo',
      rest: 'explorer: {dynamic_sampling: {max_batches: 4}}',
    },
  },
  'a query whose rows have no order': {
    file: {
      buffer: `${parts.buffer}\n      storage_type: sql\n      query: SELECT * FROM sums`,
    },
    warns: ['taskset.query: has no ORDER BY'],
  },
  'the order of supervised rows, with a key for task sets': {
    file: supervisedFile(', data_selector: {kwargs: {a: 1}}'),
    warns: ['experience_buffer.data_selector.kwargs', 'It is for task sets'],
  },
  'the critic of another stage': {
    file: {
      algorithm: '',
      rest: 'trainer: {critic_warmup: 2}\nstages:\n  - stage_name: a\n    algorithm: {algorithm_type: grpo}\n  - stage_name: b\n    algorithm: {algorithm_type: ppo}',
    },
  },
  'optimizer.fused': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer: {fused: true}',
    },
    warns: ['algorithm.optimizer.fused', 'ignored'],
  },
  'optimizer.foreach': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  optimizer: {foreach: true}',
    },
    warns: ['algorithm.optimizer.foreach', 'ignored'],
  },
  'over_rollout of an explorer in a process of its own': {
    file: {
      rest: 'mode: explore\nexplorer:\n  over_rollout: {ratio: 0.2}\n  dynamic_timeout: {enable: true}',
    },
    warns: ['explorer.over_rollout.ratio', 'depends on how long they take'],
  },
  'dapo with an explorer in a process of its own': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: dapo\n  repeat_times: 2',
      rest: 'mode: explore',
    },
  },
  over_rollout: {
    file: {
      rest: 'explorer:\n  over_rollout: {ratio: 0.2, wait_after_min: 1, return_partial_tasks: true}\nsynchronizer:\n  sync_style: explorer_driven',
    },
  },
  'over_rollout where the original refuses it': {
    file: { rest: 'explorer:\n  over_rollout: {ratio: 0.2}' },
    warns: ['explorer.over_rollout.ratio', 'how long they take'],
  },
  dynamic_timeout: {
    file: { rest: 'explorer:\n  dynamic_timeout: {enable: true, ratio: 2, warmup_min_steps: 3}' },
  },
  environment_failures: {
    file: {
      rest: 'explorer:\n  environment_failures: {max_retry_times: 0, max_in_row: 1, max_wait: 5}',
    },
  },
  'dynamic_sampling where nothing drops groups': {
    file: { rest: 'explorer:\n  dynamic_sampling: {enable: true}' },
    warns: ['explorer.dynamic_sampling.enable', 'no operator'],
  },
  'k1 as a loss': {
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  kl_loss_fn: k1' },
    warns: ['algorithm.kl_loss_fn', 'nothing holds the policy near it'],
  },
  'abs as a loss': {
    file: { algorithm: 'algorithm:\n  algorithm_type: grpo\n  kl_loss_fn: abs' },
    warns: ['algorithm.kl_loss_fn', 'total variation'],
  },
  'k1 as a penalty': {
    file: {
      algorithm: 'algorithm:\n  algorithm_type: grpo\n  kl_loss_fn: none\n  kl_penalty_fn: k1',
    },
  },
  'sync_style: dynamic_by_trainer': {
    file: { rest: 'synchronizer: {sync_style: dynamic_by_trainer, sync_interval: 4}' },
    warns: ['synchronizer.sync_style', 'Set synchronizer.max_staleness'],
  },
  'sync_style: fully_async': {
    file: {
      rest: 'explorer: {max_inflight_batches: 4}\nsynchronizer: {sync_style: fully_async, sync_method: checkpoint, trainer_sync_interval: 2}',
    },
    warns: ['synchronizer.sync_style', 'Set synchronizer.max_staleness'],
  },
  'a model of the hub, with the lengths that its folder would give': {
    file: { model: 'model:\n  model_path: Qwen/Qwen2.5-0.5B-Instruct@main\n  max_model_len: 64' },
  },
  'a GGUF file of the hub as the judge': {
    file: {
      rest: 'explorer:\n  auxiliary_models:\n    - {name: judge, model_path: owner/name/q4.gguf, max_model_len: 64}',
    },
  },
};

describe('a file of Trinity-RFT that runs is not refused', () => {
  it.each(Object.entries(accepted))('%s', (_name, { file, warns }) => {
    const { warnings } = parse(cwd, yaml(file));
    expect(warnings).toHaveLength(warns === undefined ? 0 : 1);
    for (const part of warns ?? []) expect(warnings.join()).toContain(part);
  });

  it('moves a key to where it is read, in a stage too, unless it is set there as well', () => {
    const verl =
      'trainer: {trainer_config: {algorithm: {rollout_correction: {bypass_mode: false}}}}';
    const { config } = parse(cwd, yaml({ rest: `stages:\n  - stage_name: a\n    ${verl}` }));
    expect(config.stages[0]?.algorithm.rolloutCorrection).toBeDefined();
    const algorithm =
      'algorithm:\n  algorithm_type: grpo\n  rollout_correction: {bypass_mode: true}';
    expect(() => parse(cwd, yaml({ algorithm, rest: verl }))).toThrow(
      'is read as algorithm.rollout_correction, which is set too. Keep algorithm.rollout_correction alone',
    );
  });
});

it.each(['train', 'serve'])('warns of each key for what mode %s does not do', (mode) => {
  const algorithm = mode === 'train' ? 'sft' : 'grpo';
  const { warnings } = parse(
    cwd,
    yaml({
      top: `mode: ${mode}`,
      algorithm: `algorithm: {algorithm_type: ${algorithm}}`,
      buffer: `buffer:\n  train_batch_size: 1\n  explorer_input:\n    taskset: {path: ./tasks.jsonl, default_workflow_type: nosuch}\n    eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: nosuch}]\n  ${mode === 'train' ? 'trainer_input: {experience_buffer: {path: tasks.jsonl}}' : ''}`,
      rest: 'explorer: {eval_interval: 5, failure_reward: 0, max_inflight_batches: 3, over_rollout: {wait_after_min: 5}, dynamic_timeout: {ratio: 4}}\ncluster: {explorers: 2}\nsynchronizer: {sync_style: fully_async, max_staleness: 3}',
    }),
  );
  const keys = warnings.flatMap((text) => / (\S+): ignored\. In mode/.exec(text)?.[1] ?? []);
  expect(keys.toSorted()).toEqual([
    'buffer.explorer_input.eval_tasksets',
    'buffer.explorer_input.taskset',
    'cluster.explorers',
    'explorer.dynamic_timeout',
    'explorer.eval_interval',
    'explorer.failure_reward',
    'explorer.max_inflight_batches',
    'explorer.over_rollout',
    'synchronizer.max_staleness',
    'synchronizer.sync_style',
  ]);
});

it('warns of each key for what mode bench does not do', () => {
  const { warnings } = parse(
    cwd,
    yaml({
      top: 'mode: bench',
      buffer:
        'buffer:\n  total_steps: 5\n  explorer_input:\n    taskset: {path: ./tasks.jsonl}\n    eval_tasksets: [{path: ./tasks.jsonl, default_workflow_type: math_workflow}]',
      rest: 'explorer: {failure_reward: 0, max_inflight_batches: 3, over_rollout: {ratio: 0.5}}\ncluster: {explorers: 2}\nsynchronizer: {sync_interval: 3, sync_style: fully_async}\ntrainer: {total_steps: 3, save_interval: 2}',
    }),
  );
  const keys = warnings.flatMap((text) => / (\S+): ignored\. In mode/.exec(text)?.[1] ?? []);
  expect(keys.toSorted()).toEqual([
    'buffer.explorer_input.taskset',
    'buffer.total_steps',
    'cluster.explorers',
    'explorer.failure_reward',
    'explorer.max_inflight_batches',
    'explorer.over_rollout',
    'synchronizer.sync_interval',
    'synchronizer.sync_style',
    'trainer.save_interval',
    'trainer.total_steps',
  ]);
});

describe('a file that writes out every default', () => {
  const model = { model_path: './tiny' };
  const task = { path: './tasks.jsonl', default_workflow_type: 'w' };
  const schema = schemasOf({ algorithms: builtInTables, engines }).run;
  it.each([
    { mode: 'both', model, buffer: { explorer_input: { tasksets: [task] } } },
    { mode: 'serve', model },
    { mode: 'bench', model, buffer: { explorer_input: { eval_tasksets: [task] } } },
    {
      mode: 'train',
      model,
      algorithm: { algorithm_type: 'sft' },
      buffer: { train_batch_size: 1, trainer_input: { experience_buffer: { path: task.path } } },
    },
  ])('has no warnings: mode $mode', (given) => {
    const { algorithm, ...sections } = schema.parse(given);
    // The old name of a key that has a default as well.
    const { bypass_old_logprobs: _, ...rest } = algorithm;
    const { warnings } = parse(cwd, JSON.stringify({ ...sections, algorithm: rest }));
    expect(warnings).toEqual([]);
  });
});

it('says nothing of greedy runs whose workflow selects the experiences', () => {
  const text = yaml({ model: 'model: {model_path: ./tiny, temperature: 0}' });
  const said = [true, false].map((selects) => {
    const workflows = { names: () => [], find: () => ({ selects }) };
    return parse(cwd, text, { workflows }).warnings;
  });
  expect(said).toEqual([[], [expect.stringContaining('the same answers')]]);
});

it('takes a number as the file has it where text is expected', () => {
  const { config } = parse(cwd, yaml({ top: 'project: 007\nname: 1.10\nseed: 0x10' }));
  const { project, name, seed } = config;
  expect({ project, name, seed }).toEqual({ project: '007', name: '1.10', seed: 16 });
});

it('refuses a name that is longer than file systems take', () => {
  const long = (length: number): (() => unknown) => {
    const text = yaml({ top: `name: ${'é'.repeat(length)}` });
    return () => parse(cwd, text);
  };
  expect(long(121)).toThrow(/part of more than 240 bytes/);
  expect(long(120)).not.toThrow();
});

it('says nothing of a critic that keys without effect leave out', () => {
  const { warnings } = parse(
    cwd,
    yaml({
      model: "model:\n  model_path: ./tiny\n  critic_model_path: ''",
      rest: 'trainer:\n  critic_warmup: 0',
    }),
  );
  expect(warnings.join()).not.toContain('has no critic');
});
