/**
 * Presets that compare the rollouts of a task, and correct for the drift of the policy since
 * sampling.
 */
import { deepSeekMath, paper, plain, rollouts, type PresetTable } from './base.js';

export const groupRelative = {
  grpo: {
    ...rollouts,
    doc: {
      summary: 'Group-relative policy optimisation: a run is compared with the others of its task.',
      formula: 'A = (R - mean(R)) / std(R) per task; clipped ratio loss + KL loss',
      source: deepSeekMath,
    },
  },
  multi_step_grpo: {
    ...rollouts,
    repeatTimes: 8,
    advantageFn: { name: 'step_wise_grpo' },
    doc: {
      summary: 'grpo for runs of several steps: every step of a run gets the advantage of the run.',
      formula:
        'A = (r - mean(r)) / std(r) over the runs of a task, r the reward of the last step; clipped ratio loss + KL loss',
      source: deepSeekMath,
    },
  },
  gigpo: {
    ...rollouts,
    repeatTimes: 8,
    advantageFn: { name: 'gigpo' },
    doc: {
      summary:
        'grpo for runs of several steps that also compares steps that began in the same state of the environment.',
      formula: 'A = A_E + omega * A_S; clipped ratio loss + KL loss',
      source: paper('Group-in-Group Policy Optimization for LLM Agent Training', '2505.10978'),
    },
  },
  grpo_verl: {
    ...rollouts,
    advantageFn: { name: 'grpo_verl' },
    doc: {
      summary: 'grpo without its options; can run after a KL penalty on rewards.',
      formula:
        'A = (G - mean(G)) / std(G) per task, G the sum of token rewards; clipped ratio loss + KL loss',
      source: deepSeekMath,
    },
  },
  dr_grpo: {
    ...plain,
    advantageFn: { name: 'grpo', args: { stdCalLevel: 'none' } },
    lossAggMode: 'seq-mean-token-sum',
    lossAggNorm: 'max_response_tokens',
    doc: {
      summary:
        'grpo without the two biases: no division by the deviation of the group, none by the length of an answer.',
      formula:
        'A = R - mean(R) per task; clipped ratio loss, summed over tokens and divided by a constant',
      source: paper('Understanding R1-Zero-Like Training: A Critical Perspective', '2503.20783'),
    },
  },
  dapo: {
    ...rollouts,
    repeatTimes: 16,
    klLossFn: { name: 'none' },
    policyLossFn: { name: 'ppo', args: { clipRangeLow: 0.2, clipRangeHigh: 0.28 } },
    operators: [
      { name: 'dapo_dynamic_sampling' },
      {
        name: 'overlong_penalty',
        args: { maxResponseLength: 'max_response_tokens', cacheShare: 0.2 },
      },
      { name: 'mask_response_truncated' },
    ],
    dynamicSampling: true,
    doc: {
      summary:
        'grpo without KL, with a higher upper clip; further tasks in place of those whose runs are all right or all wrong, a penalty for answers near the length limit, and no training on those that were cut off.',
      formula:
        'A as in grpo of R + overlong penalty; l = max(-A r, -A clip(r, 0.8, 1.28)), mean over tokens; tasks with 0 < correct < n',
      source: paper(
        'DAPO: An Open-Source LLM Reinforcement Learning System at Scale',
        '2503.14476',
      ),
    },
  },
  grpo_tis: {
    ...rollouts,
    policyLossFn: { name: 'truncated_importance_sampling' },
    doc: {
      summary:
        'grpo with one step per batch, whose importance ratios only correct for the sampler and are cut off from above.',
      formula: 'l = -sg(min(r, C)) A x, A as in grpo',
      source: {
        title: 'Your Efficient RL Framework Secretly Brings You Off-Policy RL Training',
        url: 'https://fengyao.notion.site/off-policy-rl',
      },
    },
  },
  grpo_sequence_masking: {
    ...rollouts,
    policyLossFn: { name: 'ppo', args: { enableSequenceMasking: true } },
    doc: {
      summary: 'grpo that leaves out bad answers which the policy has moved too far away from.',
      formula: 'as grpo; l = 0 for A < 0 where the mean of o - x over the answer is above delta',
      source: paper(
        'DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models',
        '2512.02556',
      ),
    },
  },
  cispo: {
    ...rollouts,
    policyLossFn: { name: 'cispo' },
    doc: {
      summary:
        'grpo whose importance weight is clipped instead of the loss, so that every token keeps a gradient.',
      formula: 'l = -A sg(clip(r, 1 - lo, 1 + hi)) x, A as in grpo',
      source: paper(
        'MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention',
        '2506.13585',
      ),
    },
  },
  gspo: {
    ...rollouts,
    policyLossFn: { name: 'gspo' },
    lossAggMode: 'seq-mean-token-mean',
    doc: {
      summary:
        'grpo with one importance ratio per answer, the geometric mean of those of its tokens.',
      formula:
        'l = max(-A s, -A clip(s, 1 - lo, 1 + hi)), s = exp(x - sg(x) + sg(mean of d over the answer)), A as in grpo',
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
  m2po: {
    ...rollouts,
    policyLossFn: { name: 'm2po' },
    doc: {
      summary:
        'grpo for stale batches: the few tokens that moved most are left out until the second moment of the log-ratios is small.',
      formula: 'l = -A r over the tokens that keep mean(d^2) <= threshold, A as in grpo',
      source: paper(
        'Prosperity before Collapse: How Far Can Off-Policy RL Reach with Stale Data on LLMs?',
        '2510.01161',
      ),
    },
  },
} satisfies PresetTable;
