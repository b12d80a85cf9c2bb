/** Every algorithm by name with the parts it is made of, and the arguments of the parts that are built. */
import type { z } from 'zod';
import { field, flag, float, maybe, oneOf, section } from './schema/scalars.js';

/** Names of the original and of its newer versions, built or not. */
export const advantageNames = [
  'grpo',
  'step_wise_grpo',
  'ppo',
  'reinforce',
  'opmd',
  'asymre',
  'rec',
  'reinforceplusplus',
  'remax',
  'rloo',
  'grpo_verl',
  'opmd_verl',
  'asymre_verl',
  'on_policy_distill',
  'jsd',
  'clipb',
  'clipv',
  'gigpo',
  'cod',
] as const;
export const policyLossNames = [
  'ppo',
  'sft',
  'gspo',
  'cispo',
  'sapo',
  'topr',
  'opmd',
  'sppo',
  'importance_sampling',
  'rec',
  'sft_is',
  'sft_phi',
  'dpo',
  'mix',
  'mix_chord',
  'm2po',
] as const;
export const klNames = ['none', 'k1', 'k2', 'k3', 'low_var_kl', 'abs', 'corrected_k3'] as const;
export const entropyNames = ['default', 'none', 'mix'] as const;
export const sampleStrategyNames = ['default', 'staleness_control', 'mix'] as const;
export const lossAggModes = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'] as const;

/** What an algorithm is made of when the file does not say otherwise. */
export interface AlgorithmRecipe {
  /** Of the experiences: rollouts, answers to imitate, or pairs. */
  readonly schema: 'experience' | 'sft' | 'dpo' | 'text';
  /** Runs per task. */
  readonly repeatTimes: number;
  /** Undefined: no rewards, so no advantages. */
  readonly advantageFn: (typeof advantageNames)[number] | undefined;
  readonly policyLossFn: (typeof policyLossNames)[number];
  readonly klLossFn: (typeof klNames)[number];
  readonly entropyLossFn: (typeof entropyNames)[number];
  readonly sampleStrategy: (typeof sampleStrategyNames)[number];
}

type Overrides = Partial<AlgorithmRecipe>;
const rollouts = (overrides: Overrides): AlgorithmRecipe => ({
  schema: 'experience',
  repeatTimes: 2,
  advantageFn: 'grpo',
  policyLossFn: 'ppo',
  klLossFn: 'k2',
  entropyLossFn: 'default',
  sampleStrategy: 'default',
  ...overrides,
});
const stored = (overrides: Overrides): AlgorithmRecipe =>
  rollouts({ repeatTimes: 1, advantageFn: undefined, klLossFn: 'none', entropyLossFn: 'none', ...overrides });
const noReference: Overrides = { klLossFn: 'none', entropyLossFn: 'none' };
const mixed: Overrides = { repeatTimes: 8, entropyLossFn: 'mix', sampleStrategy: 'mix' };

/** The 21 names of the original, then those of its newer versions. Source: trinity/algorithm/algorithm.py of Trinity-RFT 0.5.2 (Apache-2.0). */
export const algorithmRecipes = {
  sft: stored({ schema: 'sft', policyLossFn: 'sft' }),
  ppo: rollouts({ repeatTimes: 1, advantageFn: 'ppo' }),
  grpo: rollouts({}),
  grpo_verl: rollouts({ advantageFn: 'grpo_verl' }),
  multi_step_grpo: rollouts({ repeatTimes: 8, advantageFn: 'step_wise_grpo' }),
  reinforceplusplus: rollouts({ advantageFn: 'reinforceplusplus' }),
  rloo: rollouts({ advantageFn: 'rloo' }),
  opmd: rollouts({ advantageFn: 'opmd', policyLossFn: 'opmd' }),
  asymre: rollouts({ advantageFn: 'asymre', policyLossFn: 'opmd', ...noReference }),
  topr: rollouts({ advantageFn: 'reinforce', policyLossFn: 'topr' }),
  cispo: rollouts({ policyLossFn: 'cispo' }),
  gspo: rollouts({ policyLossFn: 'gspo' }),
  sapo: rollouts({ policyLossFn: 'sapo' }),
  mix: rollouts({ policyLossFn: 'mix', ...mixed }),
  mix_chord: rollouts({ policyLossFn: 'mix_chord', ...mixed }),
  raft: rollouts({ repeatTimes: 1, policyLossFn: 'sft', ...noReference }),
  sppo: rollouts({ advantageFn: 'opmd', policyLossFn: 'sppo', ...noReference }),
  rec: rollouts({ advantageFn: 'rec', policyLossFn: 'rec' }),
  dpo: stored({ schema: 'dpo', repeatTimes: 2, policyLossFn: 'dpo', klLossFn: 'k2', entropyLossFn: 'default' }),
  on_policy_distill: rollouts({ repeatTimes: 8, advantageFn: 'on_policy_distill', ...noReference }),
  jsd: rollouts({ repeatTimes: 8, advantageFn: 'jsd', ...noReference }),
  dapo: rollouts({ repeatTimes: 16, klLossFn: 'none' }),
  m2po: rollouts({ policyLossFn: 'm2po' }),
  gigpo: rollouts({ repeatTimes: 8, advantageFn: 'gigpo' }),
  cod: rollouts({ repeatTimes: 8, advantageFn: 'cod' }),
  cpt: stored({ schema: 'text', policyLossFn: 'sft' }),
} satisfies Record<string, AlgorithmRecipe>;

export type KnownAlgorithm = keyof typeof algorithmRecipes;
export const algorithmNames = Object.keys(algorithmRecipes) as [KnownAlgorithm, ...KnownAlgorithm[]];

/** What works today; every other known name is refused by the status table. */
export const builtAlgorithms = ['grpo', 'multi_step_grpo', 'sft'] as const satisfies readonly KnownAlgorithm[];
export const builtAdvantages = ['grpo', 'step_wise_grpo'] as const;
export const builtPolicyLosses = ['ppo', 'sft'] as const;
export const builtEntropies = ['default', 'none'] as const;

const stdCalLevel = field(
  oneOf(['group', 'batch']),
  'group',
  'Rewards whose deviation divides: of the group, or of the whole explore step.',
);
const stdThreshold = maybe(float({ min: 0 }), 'Groups whose reward deviation is at most this are dropped.');
const epsilon = field(float({ min: 0 }), 1e-6, 'Added to the deviation before dividing by it.');

/** Arguments by function; a partial `*_args` in the file is completed from here, and unknown names are refused. */
export const advantageArgs = {
  grpo: section(
    {
      epsilon,
      std_threshold: stdThreshold,
      duplicate_experiences: field(flag(), false, 'Replace dropped groups by copies of kept ones; needs std_threshold.'),
      rank_penalty: maybe(float({ min: 0, max: 1 }), 'Likelier runs of a group lose up to this share of their reward.'),
      std_cal_level: stdCalLevel,
    },
    'Arguments of the advantage function grpo.',
  ),
  step_wise_grpo: section(
    {
      epsilon,
      enable_step_norm: field(flag(), false, 'Divide the advantage of a run by its number of steps.'),
      std_cal_level: stdCalLevel,
      std_threshold: stdThreshold,
    },
    'Arguments of the advantage function step_wise_grpo.',
  ),
};

const lossAggMode = maybe(oneOf(lossAggModes), 'As algorithm.loss_agg_mode, which wins.');

export const policyLossArgs = {
  ppo: section(
    {
      clip_range: field(float({ min: 0 }), 0.2, 'Ratios are clipped to 1 - this and 1 + this.'),
      clip_range_low: maybe(float({ min: 0, max: 1 }), 'Lower side only; wins over clip_range.'),
      clip_range_high: maybe(float({ min: 0 }), 'Upper side only; wins over clip_range.'),
      clip_ratio_c: field(float({ above: 1 }), 3, 'Dual clip: bound of the loss where the advantage is negative.'),
      enable_sequence_masking: field(flag(), false, 'Leave out responses with a negative advantage that have drifted too far.'),
      delta_sequence_masking: field(float({ min: 0 }), 0.1, 'Mean drift (nats per token) above which a response is left out.'),
      fallback_to_policy_gradient: field(flag(), false, 'Take the ratio as 1: plain policy gradient.'),
      loss_agg_mode: lossAggMode,
    },
    'Arguments of the policy loss ppo.',
  ),
  sft: section({ loss_agg_mode: lossAggMode }, 'Arguments of the policy loss sft.'),
};

export const klArgs = section(
  {
    kl_coef: field(float({ min: 0 }), 0.001, 'Weight of the term.'),
    adaptive: field(flag(), false, 'Steer the weight towards target_kl.'),
    target_kl: maybe(float({ min: 0 }), 'For adaptive.'),
    horizon: maybe(float({ above: 0 }), 'For adaptive.'),
  },
  'Arguments of a KL term.',
);

export const entropyArgs = section(
  { entropy_coef: field(float(), 0, 'Weight of the entropy, which is subtracted from the loss.') },
  'Arguments of the entropy term.',
);
export const noArgs = section({}, 'This function takes no arguments.');

export type AdvantageInput = { [K in keyof typeof advantageArgs]: z.output<(typeof advantageArgs)[K]> };
export type PolicyLossInput = { [K in keyof typeof policyLossArgs]: z.output<(typeof policyLossArgs)[K]> };
