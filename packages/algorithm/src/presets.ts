/** The algorithms by the names of YAML's `algorithm_type`, as the parts they are made of. A new one is a row. */
import type { AlgorithmPreset } from './tables.js';

const rollouts = {
  schema: 'experience',
  repeatTimes: 2,
  advantageFn: { name: 'grpo' },
  policyLossFn: { name: 'ppo' },
  klLossFn: { name: 'k2' },
  entropyLossFn: { name: 'default' },
  sampleStrategy: { name: 'default' },
  lossAggMode: 'token-mean',
} as const;

const supervised = {
  ...rollouts,
  repeatTimes: 1,
  advantageFn: undefined,
  klLossFn: { name: 'none' },
  entropyLossFn: { name: 'none' },
} as const;

export const algorithmPresets = {
  grpo: { ...rollouts, doc: { summary: 'Group-relative policy optimisation.', formula: '' } },
  multi_step_grpo: {
    ...rollouts,
    repeatTimes: 8,
    advantageFn: { name: 'step_wise_grpo' },
    doc: { summary: 'Group-relative policy optimisation of runs of several steps.', formula: '' },
  },
  sft: { ...supervised, schema: 'sft', policyLossFn: { name: 'sft' }, doc: { summary: 'Supervised fine-tuning.', formula: '' } },
} satisfies Readonly<Record<string, AlgorithmPreset>>;
