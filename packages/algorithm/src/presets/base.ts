/** Settings that presets share. */
import type { AlgorithmPreset } from '../parts/preset.js';

export type PresetTable = Readonly<Record<string, AlgorithmPreset>>;

/**
 * Settings of `grpo`: rollouts compared with others of the same task, a KL loss, and the entropy as
 * a metric only.
 */
export const rollouts = {
  schema: 'experience',
  repeatTimes: 2,
  advantageFn: { name: 'grpo' },
  policyLossFn: { name: 'ppo' },
  klLossFn: { name: 'k2' },
  entropyLossFn: { name: 'default' },
  sampleStrategy: { name: 'default' },
  lossAggMode: 'token-mean',
} as const;

/** Like {@link rollouts}, but uses neither a reference model nor entropies. */
export const plain = {
  ...rollouts,
  klLossFn: { name: 'none' },
  entropyLossFn: { name: 'none' },
} as const;

/** Settings for training on stored responses, preference pairs or plain text. */
export const supervised = { ...plain, repeatTimes: 1, advantageFn: undefined } as const;

export const paper = (title: string, number: string): { title: string; url: string } => ({
  title,
  url: `https://arxiv.org/abs/${number}`,
});

export const deepSeekMath = paper(
  'DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models',
  '2402.03300',
);
export const groupRelativeReinforce = paper(
  'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm: Demystifying Some Myths About GRPO and Its Friends',
  '2509.24203',
);
export const chord = paper(
  'On-Policy RL Meets Off-Policy Experts: Harmonizing SFT and RL via Dynamic Weighting',
  '2508.11408',
);
