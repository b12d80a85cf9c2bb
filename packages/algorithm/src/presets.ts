/** The algorithms by the names of YAML's `algorithm_type`, as the parts they are made of. A new one is a row. */
import type { AlgorithmOptions } from './create-algorithm.js';

export const algorithmPresets = {
  grpo: {
    advantageFn: { name: 'grpo' },
    policyLossFn: { name: 'ppo' },
    klLossFn: { name: 'k2' },
    entropyLossFn: { name: 'default' },
    lossAggMode: 'token-mean',
  },
  multi_step_grpo: {
    advantageFn: { name: 'step_wise_grpo' },
    policyLossFn: { name: 'ppo' },
    klLossFn: { name: 'k2' },
    entropyLossFn: { name: 'default' },
    lossAggMode: 'token-mean',
  },
  sft: {
    policyLossFn: { name: 'sft' },
    klLossFn: { name: 'none' },
    entropyLossFn: { name: 'none' },
    lossAggMode: 'token-mean',
  },
} satisfies Readonly<Record<string, AlgorithmOptions>>;
