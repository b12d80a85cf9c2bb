/** The `algorithm` section. */
import { lossAggModes, type AlgorithmTables } from '@trinity-rft/algorithm';
import { missingNames, namedKeys } from './known-names.js';
import {
  cast,
  dict,
  field,
  flag,
  float,
  int,
  maybe,
  oneOf,
  pairOf,
  section,
  text,
  toNumber,
} from './scalars.js';
import { z } from 'zod';

/** What an optimizer takes: that of the policy, and that of a critic. */
export const optimizerValues = {
  lr: float({ above: 0 }),
  lr_warmup_steps: int(),
  lr_warmup_steps_ratio: float({ min: 0, max: 1 }),
  min_lr_ratio: float({ min: 0, max: 1 }),
  lr_scheduler_type: oneOf(['constant', 'cosine']),
  betas: pairOf(float({ min: 0, below: 1 }), 'a list of two numbers from 0 to below 1'),
  weight_decay: float({ min: 0 }),
  clip_grad: float({ min: 0 }),
};

const optimizer = section(
  {
    lr: field(optimizerValues.lr, 1e-6, 'Learning rate.'),
    lr_warmup_steps: field(
      optimizerValues.lr_warmup_steps,
      -1,
      'Optimizer steps over which the learning rate rises; below 0: lr_warmup_steps_ratio decides.',
    ),
    lr_warmup_steps_ratio: field(
      optimizerValues.lr_warmup_steps_ratio,
      0,
      'Share of all optimizer steps over which the learning rate rises.',
    ),
    min_lr_ratio: field(
      optimizerValues.min_lr_ratio,
      0.01,
      'The learning rate never falls below lr times this.',
    ),
    warmup_style: maybe(optimizerValues.lr_scheduler_type, 'Old name of lr_scheduler_type.'),
    lr_scheduler_type: field(
      optimizerValues.lr_scheduler_type,
      'constant',
      'Course of the learning rate after the warm-up.',
    ),
    optimizer_type: field(
      oneOf(['adam', 'adamw', 'sgd']),
      'adam',
      'adam and adamw are both AdamW.',
    ),
    betas: field(optimizerValues.betas, [0.9, 0.999], 'Decay rates of the two moments.'),
    weight_decay: field(optimizerValues.weight_decay, 0.01, 'Decoupled weight decay.'),
    clip_grad: field(
      optimizerValues.clip_grad,
      1,
      'Largest global gradient norm; 0 = no clipping.',
    ),
  },
  'How weights follow gradients.',
);

/** The names that a key takes: those of its table, and those that are known and refused. */
const names = (tables: AlgorithmTables, key: string): [string, ...string[]] =>
  namedKeys
    .filter(({ path }) => path === `algorithm.${key}`)
    .flatMap((named) => [...Object.keys(tables[named.table]), ...missingNames(named, tables)]) as [
    string,
    ...string[],
  ];

/** With the names of the tables. */
export const algorithmSection = (tables: AlgorithmTables) => {
  const named = (key: string, aliases: Readonly<Record<string, string>> = {}) =>
    oneOf(names(tables, key), aliases);
  return section(
    {
      algorithm_type: field(
        named('algorithm_type'),
        'ppo',
        'The algorithm; it decides every part below that is not set.',
      ),
      repeat_times: maybe(
        int({ min: 1 }),
        'Runs per task: the group size. Default: what the algorithm declares.',
      ),
      optimizer,
      sample_strategy: maybe(
        named('sample_strategy', { warmup: 'default' }),
        'How the trainer takes experiences from the buffer.',
      ),
      sample_strategy_args: maybe(
        dict(),
        'Arguments of sample_strategy; those left out keep their defaults.',
      ),
      advantage_fn: maybe(named('advantage_fn'), 'How rewards become advantages.'),
      advantage_fn_args: maybe(
        dict(),
        'Arguments of advantage_fn; those left out keep their defaults.',
      ),
      kl_penalty_fn: maybe(
        named('kl_penalty_fn'),
        'KL term inside the reward, for advantages that are computed in the trainer.',
      ),
      kl_penalty_fn_args: maybe(
        dict(),
        'Arguments of kl_penalty_fn; those left out keep their defaults.',
      ),
      policy_loss_fn: maybe(named('policy_loss_fn'), 'The policy loss.'),
      policy_loss_fn_args: maybe(
        dict(),
        'Arguments of policy_loss_fn; those left out keep their defaults.',
      ),
      kl_loss_fn: maybe(named('kl_loss_fn'), 'KL term inside the loss.'),
      kl_loss_fn_args: maybe(
        dict(),
        'Arguments of kl_loss_fn; those left out keep their defaults.',
      ),
      entropy_loss_fn: maybe(named('entropy_loss_fn'), 'Entropy term inside the loss.'),
      entropy_loss_fn_args: maybe(
        dict(),
        'Arguments of entropy_loss_fn; those left out keep their defaults.',
      ),
      loss_agg_mode: maybe(
        oneOf(lossAggModes),
        'How the terms of the tokens become one number. Default: what the algorithm declares.',
      ),
      loss_agg_norm: maybe(
        cast(
          (value) => (value === 'max_response_tokens' ? value : toNumber(value)),
          z.union([z.literal('max_response_tokens'), z.number().gt(0)]),
          'a number, above 0, or max_response_tokens',
        ),
        'Extension. What the modes with -sum divide a sum over tokens by. Default: what the algorithm declares, else 1, and with -norm the longest response.',
      ),
      enable_router_replay: field(flag(), false, 'Mixture-of-experts models only.'),
      bypass_old_logprobs: field(
        flag(),
        true,
        'Take the log-probabilities of the sampler as the old ones.',
      ),
      rollout_correction: maybe(dict(), 'Off-policy correction between sampler and trainer.'),
    },
    'What is optimised and how.',
  );
};

/** Shared by everything that samples. */
export const generation = section(
  {
    temperature: maybe(float({ min: 0 }), 'Default: model.temperature.'),
    top_p: maybe(float({ above: 0, max: 1 }), 'Default: model.top_p.'),
    top_k: maybe(int({ min: -1 }), '-1 = all. Default: model.top_k.'),
    logprobs: maybe(
      int({ min: 0, max: 20 }),
      'Alternatives reported per token. Default: model.logprobs.',
    ),
    max_tokens: maybe(int({ min: 1 }), 'Default: model.max_response_tokens.'),
    n: field(int({ min: 1 }), 1, 'Filled in by the run, from repeat_times.'),
  },
  'How the model samples for these tasks.',
);

/** How rows are read. */
export const format = section(
  {
    prompt_type: field(
      oneOf(['messages', 'plaintext']),
      'messages',
      'Supervised data: conversations, or a prompt and a response.',
    ),
    prompt_key: field(text(), 'prompt', 'Column of the prompt.'),
    response_key: field(text(), 'response', 'Column of the expected answer.'),
    system_prompt_key: maybe(text(), 'Column of a system prompt per row; wins over system_prompt.'),
    system_prompt: maybe(text(), 'System prompt for every row.'),
    messages_key: field(
      text(),
      'message',
      'Column of the conversation; many data sets call it messages.',
    ),
    tools_key: field(text(), 'tools', 'Column of the tool definitions.'),
    image_key: maybe(text(), 'Column of images.'),
    video_key: maybe(text(), 'Column of videos.'),
    reply_prefix: maybe(text(), 'The reply of the model begins with this text.'),
    workflow_key: field(text(), '', 'Column that names the workflow of a row.'),
    reward_fn_key: field(text(), '', 'Column that names the reward function of a row.'),
    chosen_key: field(text(), 'chosen', 'Pairs: column of the better answer.'),
    rejected_key: field(text(), 'rejected', 'Pairs: column of the worse answer.'),
    enable_concatenated_multi_turn: field(
      flag(),
      false,
      'Supervised data: train on every assistant turn.',
    ),
    chat_template: maybe(text(), 'Default: the chat template of the model section.'),
    enable_thinking: maybe(flag(), 'Default: model.enable_thinking.'),
  },
  'How rows are read.',
);

/** The order of tasks. */
export const dataSelectorShape = {
  selector_type: field(
    oneOf(['sequential', 'shuffle', 'random', 'offline_easy2hard', 'difficulty_based']),
    'sequential',
    'The order of the rows.',
  ),
  seed: maybe(int({ min: 0, max: 4294967295 }), 'Default: derived from the seed of the run.'),
  feature_keys: field(z.array(text()), [], 'For offline_easy2hard and difficulty_based.'),
  kwargs: field(dict(), {}, 'For difficulty_based.'),
};
