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

/** Neither a reference model nor entropies. */
const plain = { ...rollouts, klLossFn: { name: 'none' }, entropyLossFn: { name: 'none' } } as const;

const supervised = { ...plain, repeatTimes: 1, advantageFn: undefined } as const;

const paper = (title: string, number: string): { title: string; url: string } => ({ title, url: `https://arxiv.org/abs/${number}` });

export const algorithmPresets = {
  grpo: {
    ...rollouts,
    doc: {
      summary: 'Group-relative policy optimisation: a run is compared with the others of its task.',
      formula: 'A = (R - mean(R)) / std(R) per task; clipped ratio loss + KL loss',
      source: paper('DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models', '2402.03300'),
    },
  },
  multi_step_grpo: {
    ...rollouts,
    repeatTimes: 8,
    advantageFn: { name: 'step_wise_grpo' },
    doc: {
      summary: 'grpo for runs of several steps: every step of a run gets the advantage of the run.',
      formula: 'A = (r - mean(r)) / std(r) over the runs of a task, r the reward of the last step; clipped ratio loss + KL loss',
      source: paper('DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models', '2402.03300'),
    },
  },
  gigpo: {
    ...rollouts,
    repeatTimes: 8,
    advantageFn: { name: 'gigpo' },
    doc: {
      summary: 'grpo for runs of several steps that also compares steps that began in the same state of the environment.',
      formula: 'A = A_E + omega * A_S; clipped ratio loss + KL loss',
      source: paper('Group-in-Group Policy Optimization for LLM Agent Training', '2505.10978'),
    },
  },
  rloo: {
    ...rollouts,
    advantageFn: { name: 'rloo' },
    doc: {
      summary: 'REINFORCE leave-one-out: the baseline of a run is the mean reward of the others of its task.',
      formula: 'A_i = R_i - mean over j != i of R_j; clipped ratio loss + KL loss',
      source: paper('Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs', '2402.14740'),
    },
  },
  grpo_verl: {
    ...rollouts,
    advantageFn: { name: 'grpo_verl' },
    doc: {
      summary: 'grpo without its options; can run after a KL penalty on rewards.',
      formula: 'A = (G - mean(G)) / std(G) per task, G the sum of token rewards; clipped ratio loss + KL loss',
      source: paper('DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models', '2402.03300'),
    },
  },
  dr_grpo: {
    ...plain,
    advantageFn: { name: 'grpo', args: { stdCalLevel: 'none' } },
    lossAggMode: 'seq-mean-token-sum',
    lossAggNorm: 'max_response_tokens',
    doc: {
      summary: 'grpo without the two biases: no division by the deviation of the group, none by the length of an answer.',
      formula: 'A = R - mean(R) per task; clipped ratio loss, summed over tokens and divided by a constant',
      source: paper('Understanding R1-Zero-Like Training: A Critical Perspective', '2503.20783'),
    },
  },
  cispo: {
    ...rollouts,
    policyLossFn: { name: 'cispo' },
    doc: {
      summary: 'grpo whose importance weight is clipped instead of the loss, so that every token keeps a gradient.',
      formula: 'l = -A sg(clip(r, 1 - lo, 1 + hi)) x, A as in grpo',
      source: paper('MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention', '2506.13585'),
    },
  },
  gspo: {
    ...rollouts,
    policyLossFn: { name: 'gspo' },
    lossAggMode: 'seq-mean-token-mean',
    doc: {
      summary: 'grpo with one importance ratio per answer, the geometric mean of those of its tokens.',
      formula: 'l = max(-A s, -A clip(s, 1 - lo, 1 + hi)), s = exp(mean of d over the answer), A as in grpo',
      source: paper('Group Sequence Policy Optimization', '2507.18071'),
    },
  },
  sapo: {
    ...rollouts,
    policyLossFn: { name: 'sapo', args: { differentiateGate: true } },
    doc: {
      summary: 'grpo with a soft gate on the importance ratio in place of the clip.',
      formula: 'l = -A (4 / tau) sigmoid(tau (r - 1)), tau by the sign of A, A as in grpo',
      source: paper('Soft Adaptive Policy Optimization', '2511.20347'),
    },
  },
  opmd: {
    ...rollouts,
    advantageFn: { name: 'opmd' },
    policyLossFn: { name: 'opmd' },
    doc: {
      summary: 'Online policy mirror descent in its simplest form: rewards above the mean of the group, without ratios or clips.',
      formula: 'l = -A x / (1 + tau), A = R - mean(R) per task; + KL loss',
      source: paper(
        'Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm: Demystifying Some Myths About GRPO and Its Friends',
        '2509.24203',
      ),
    },
  },
  asymre: {
    ...plain,
    advantageFn: { name: 'asymre' },
    policyLossFn: { name: 'opmd' },
    doc: {
      summary: 'REINFORCE with a baseline below the mean, so that good runs weigh more than bad ones; stable off-policy.',
      formula: 'l = -A x / (1 + tau), A = R - (mean(R) + shift) per task',
      source: paper('Asymmetric REINFORCE for off-Policy Reinforcement Learning: Balancing positive and negative rewards', '2506.20520'),
    },
  },
  topr: {
    ...rollouts,
    advantageFn: { name: 'reinforce' },
    policyLossFn: { name: 'topr' },
    doc: {
      summary: 'Off-policy REINFORCE whose bad answers are tapered by their importance ratio; good ones are imitated as they are.',
      formula: 'l = -sg(alpha) R x, alpha = 1 where R > threshold, else min(r, 1); + KL loss',
      source: paper('Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs', '2503.14286'),
    },
  },
  sppo: {
    ...plain,
    advantageFn: { name: 'opmd' },
    policyLossFn: { name: 'sppo' },
    doc: {
      summary: 'Policy gradient on the log-ratio, only where the ratio is within its range.',
      formula: 'l = -A d where 1 / (1 + epsilon) <= r <= 1 + epsilon, A = R - mean(R) per task',
      source: paper('Self-Play Preference Optimization for Language Model Alignment', '2405.00675'),
    },
  },
  raft: {
    ...plain,
    repeatTimes: 4,
    advantageFn: { name: 'raft' },
    policyLossFn: { name: 'sft' },
    doc: {
      summary: 'Rejection sampling: the best run of each task is imitated.',
      formula: 'l = -x over the run of the highest reward of each task',
      source: paper('RAFT: Reward rAnked FineTuning for Generative Foundation Model Alignment', '2304.06767'),
    },
  },
  sft: {
    ...supervised,
    schema: 'sft',
    policyLossFn: { name: 'sft' },
    doc: { summary: 'Supervised fine-tuning: stored answers are imitated.', formula: 'l = -x' },
  },
} satisfies Readonly<Record<string, AlgorithmPreset>>;
