/**
 * Presets that learn from stored responses, preference pairs or plain text, from the policy's own
 * best responses, from an expert's demonstrations or from a teacher's probabilities.
 */
import { chord, paper, plain, rollouts, supervised, type PresetTable } from './base.js';

export const imitation = {
  sft: {
    ...supervised,
    schema: 'sft',
    policyLossFn: { name: 'sft' },
    doc: { summary: 'Supervised fine-tuning: stored answers are imitated.', formula: 'l = -x' },
  },
  cpt: {
    ...supervised,
    schema: 'cpt',
    policyLossFn: { name: 'sft' },
    doc: {
      summary: 'Continued pre-training: every token of plain texts is learned but the first.',
      formula: 'l = -x',
    },
  },
  dpo: {
    ...supervised,
    schema: 'dpo',
    repeatTimes: 2,
    policyLossFn: { name: 'dpo', args: { pairing: 'each' } },
    klLossFn: { name: 'k2' },
    entropyLossFn: { name: 'default' },
    doc: {
      summary: 'Direct preference optimisation: of two stored answers to a prompt, one was chosen.',
      formula: 'l = -log sigmoid(beta ((x - f)_chosen - (x - f)_rejected)) per pair + KL loss',
      source: paper(
        'Direct Preference Optimization: Your Language Model is Secretly a Reward Model',
        '2305.18290',
      ),
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
      source: paper(
        'RAFT: Reward rAnked FineTuning for Generative Foundation Model Alignment',
        '2304.06767',
      ),
    },
  },
  mix: {
    ...rollouts,
    repeatTimes: 8,
    policyLossFn: { name: 'mix', args: { normalization: 'kinds' } },
    entropyLossFn: { name: 'mix' },
    sampleStrategy: { name: 'mix' },
    doc: {
      summary:
        'grpo on runs of the policy combined with supervised learning on expert demonstrations, in constant proportion.',
      formula: '(1 - mu) L_grpo(runs) + mu L_sft(expert)',
      source: chord,
    },
  },
  mix_chord: {
    ...rollouts,
    repeatTimes: 8,
    policyLossFn: { name: 'mix_chord', args: { normalization: 'kinds' } },
    entropyLossFn: { name: 'mix' },
    sampleStrategy: { name: 'mix' },
    doc: {
      summary:
        'mix whose share of the expert rises and decays, and whose supervised loss looks at tokens that the policy is undecided about.',
      formula: '(1 - mu(step)) L_grpo(runs) + mu(step) L_sft_phi(expert)',
      source: chord,
    },
  },
  on_policy_distill: {
    ...plain,
    repeatTimes: 8,
    advantageFn: { name: 'on_policy_distill', args: { klCoef: 1 } },
    doc: {
      summary: 'A teacher scores every token that the policy sampled; rewards are not needed.',
      formula: 'A_t = log p_teacher - log p_student; clipped ratio loss',
      source: {
        title: 'On-Policy Distillation',
        url: 'https://thinkingmachines.ai/blog/on-policy-distillation/',
      },
    },
  },
  jsd: {
    ...plain,
    repeatTimes: 8,
    advantageFn: { name: 'jsd', args: { klCoef: 1, lambdaCoef: 0.5, form: 'gradient' } },
    doc: {
      summary: 'on_policy_distill with the Jensen-Shannon divergence between student and teacher.',
      formula:
        'A_t = log(1 - b + b e^u) / b, u = log p_teacher - log p_student; clipped ratio loss',
      source: paper(
        'On-Policy Distillation of Language Models: Learning from Self-Generated Mistakes',
        '2306.13649',
      ),
    },
  },
} satisfies PresetTable;
