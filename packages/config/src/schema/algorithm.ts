/** The `algorithm` section. */
import { type AlgorithmTables } from '@trinity-rft/algorithm';
import { lossAggModes, rejectionNames } from '@trinity-rft/algorithm/internal';
import { z } from 'zod';
import {
  alike,
  converted,
  derived,
  field,
  ignored,
  maybe,
  notSupported,
  section,
} from './fields.js';
import { namesOf, unsupportedNames } from './known-names.js';
import { cast, dict, flag, float, floatOr, int, oneOf, pairOf, text, toNumber } from './scalars.js';
import { readThreshold } from './threshold-range.js';

/** Keys of optimizers, which are the same for the policy and for a critic. */
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

/**
 * Schema of a number, or of two numbers joined by an underscore, which is verl's notation for a
 * range.
 */
const threshold = () =>
  cast(
    (value) => (typeof value === 'string' && value.includes('_') ? value : toNumber(value)),
    z.union([
      z.number().gt(0),
      z
        .string()
        .regex(/^\s*[\d.]+_[\d.]+\s*$/)
        .refine((text) => readThreshold(text) !== undefined),
    ]),
    'a number above 0, or two such as 0.5_2.0',
  );

const rolloutCorrection = section(
  {
    bypass_mode: field(
      flag(),
      true,
      'false: correct for the difference between the log-probabilities of sampler and trainer, as when they are two programs. true: ratios are taken to the sampler, and nothing else is done.',
    ),
    rollout_is: maybe(
      oneOf(['token', 'sequence']),
      'Importance ratio that weighs a token: its own, or that of its sequence. Default: none.',
    ),
    rollout_is_threshold: field(
      threshold(),
      2,
      'Larger ratios are truncated. With a range, such as 0.5_2.0, ratios outside count 0.',
    ),
    rollout_is_batch_normalize: field(
      flag(),
      false,
      'Divide the ratios by their mean over the batch.',
    ),
    rollout_rs: maybe(
      text(),
      `Tokens or sequences that differ too much are left out, by one or several of ${rejectionNames.join(', ')}, with commas.`,
    ),
    rollout_rs_threshold: maybe(
      text(),
      'Largest value kept, for all of rollout_rs or one for each, with commas. k1: largest ratio, or a range such as 0.5_2.0.',
    ),
  },
  'Correction for a sampler that does not compute as the trainer does; as verl.',
  derived,
);

const belowZeroIsNone = (steps: number): number | undefined => (steps < 0 ? undefined : steps);

export const optimizer = section(
  {
    lr: field(optimizerValues.lr, 1e-6, 'Learning rate.'),
    lr_warmup_steps: field(
      optimizerValues.lr_warmup_steps,
      -1,
      'Optimizer steps W of linear warm-up: step s = 1, 2, … below W has lr (r + (1 - r) s / W), where r is min_lr_ratio, and steps from W on have the whole rate. Below 0: lr_warmup_steps_ratio decides.',
      converted(belowZeroIsNone),
    ),
    lr_warmup_steps_ratio: field(
      optimizerValues.lr_warmup_steps_ratio,
      0,
      'Share of all optimizer steps over which the learning rate rises.',
    ),
    min_lr_ratio: field(
      optimizerValues.min_lr_ratio,
      0.01,
      'The warm-up rises from lr times this, and the learning rate never falls below it.',
    ),
    lr_scheduler_type: field(
      optimizerValues.lr_scheduler_type,
      'constant',
      'Course of the learning rate after the warm-up.',
    ),
    optimizer_type: field(
      oneOf(['adam', 'adamw', 'sgd']),
      'adam',
      'adam and adamw are both AdamW.',
      notSupported('Use adam.', { values: ['sgd'] }),
      derived,
    ),
    ...alike(['fused', 'foreach'], () =>
      maybe(flag(), 'PyTorch only.', ignored('It tunes PyTorch.', { except: [null] })),
    ),
    betas: field(optimizerValues.betas, [0.9, 0.999], 'Decay rates of the two moments.'),
    weight_decay: field(optimizerValues.weight_decay, 0.01, 'Decoupled weight decay.'),
    clip_grad: field(
      optimizerValues.clip_grad,
      1,
      'Largest global gradient norm; 0 = no clipping.',
      derived,
    ),
  },
  'How weights follow gradients.',
  derived,
);

/** Schema of a name in a table, or of a name of Trinity-RFT that is not supported. */
const named = (
  tables: AlgorithmTables,
  table: keyof AlgorithmTables,
  aliases: Readonly<Record<string, string>> = {},
) => oneOf(namesOf(tables, table), aliases);

/** Keys that select a part of the algorithm. The part's arguments are under `<key>_args`. */
export const partKeys = [
  'sample_strategy',
  'advantage_fn',
  'kl_penalty_fn',
  'policy_loss_fn',
  'kl_loss_fn',
  'entropy_loss_fn',
] as const;

export type PartKey = (typeof partKeys)[number];

const argsOf = (key: PartKey) =>
  maybe(dict(), `Arguments of ${key}; those left out keep their defaults.`, derived);

/** Creates the schema of the section. The schema accepts the names in the tables. */
export const algorithmSection = (tables: AlgorithmTables) =>
  section(
    {
      algorithm_type: field(
        named(tables, 'presets'),
        'ppo',
        'The algorithm; it decides every part below that is not set.',
        ...unsupportedNames(tables, 'presets'),
      ),
      repeat_times: maybe(
        int({ min: 1 }),
        'Runs per task: the group size. Default: what the algorithm declares.',
        derived,
      ),
      optimizer,
      sample_strategy: maybe(
        named(tables, 'sampleStrategies', { warmup: 'default' }),
        'How the trainer takes experiences from the buffer.',
        derived,
      ),
      sample_strategy_args: argsOf('sample_strategy'),
      advantage_fn: maybe(
        named(tables, 'advantageFns'),
        'How rewards become advantages.',
        ...unsupportedNames(tables, 'advantageFns'),
        derived,
      ),
      advantage_fn_args: argsOf('advantage_fn'),
      kl_penalty_fn: maybe(
        named(tables, 'klFns'),
        'KL term inside the reward, for advantages that are computed in the trainer.',
        derived,
      ),
      kl_penalty_fn_args: argsOf('kl_penalty_fn'),
      policy_loss_fn: maybe(named(tables, 'policyLossFns'), 'The policy loss.', derived),
      policy_loss_fn_args: argsOf('policy_loss_fn'),
      kl_loss_fn: maybe(named(tables, 'klFns'), 'KL term inside the loss.', derived),
      kl_loss_fn_args: argsOf('kl_loss_fn'),
      entropy_loss_fn: maybe(
        named(tables, 'entropyLossFns'),
        'Entropy term inside the loss.',
        derived,
      ),
      entropy_loss_fn_args: argsOf('entropy_loss_fn'),
      loss_agg_mode: maybe(
        oneOf(lossAggModes),
        'How the terms of the tokens become one number. Default: what the algorithm declares.',
        derived,
      ),
      loss_agg_norm: maybe(
        floatOr('max_response_tokens', { above: 0 }),
        'Extension. What the modes with -sum divide a sum over tokens by. Default: what the algorithm declares, else 1, and with -norm the longest response.',
        derived,
      ),
      enable_router_replay: field(
        flag(),
        false,
        'Mixture-of-experts models only.',
        notSupported('Mixture-of-experts models cannot be trained yet.'),
      ),
      bypass_old_logprobs: field(flag(), true, 'Read as rollout_correction.bypass_mode.', derived),
      rollout_correction: rolloutCorrection,
    },
    'What is optimised and how.',
  );
