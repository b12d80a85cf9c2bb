/** Example runs for the rules: only the named rule applies to each run. */
import type { Metrics } from '@trinity-rft/core';
import { rollouts, type WrittenRun } from './written-run.js';

const constant = (value: number) => () => ({
  'rollout/reward/mean': value,
  'rollout/reward/max': value,
  'rollout/reward/min': value,
  'experience_pipeline/group_advantages/zero_variance_ratio': 1,
});

const tokens = (count: number): readonly number[] => Array.from({ length: count }, () => 7);
const answer = (task: number, length: number) => ({
  tokens: [10 + task, 2, ...tokens(length)],
  logprobs: tokens(length).map(() => -1),
});

export const sickRuns: Readonly<Record<string, WrittenRun>> = {
  'run-failed': { failure: 'EngineError: The worker ended.\n    at somewhere' },
  'settings-changed': {
    log: 'WARN  trinity buffer.explorer_input.taskset.workflow_args.level: changed from 1 to 2 takes effect.\n',
  },
  'nothing-stored': { explorer: () => ({ 'experience_pipeline/experience_count': 0 }) },
  'dropped-groups': { explorer: () => ({ 'experience_pipeline/filtered_count': 900 }) },
  'stale-data': { trainer: () => ({ 'sample/staleness/mean': 6, 'sample/staleness/max': 9 }) },
  'stale-dropped': { trainer: () => ({ 'sample/stale_dropped': 40 }) },
  'partial-groups': { trainer: () => ({ 'sample/partial_group_count': 6 }) },

  'failing-runs': { explorer: () => ({ 'rollout/runs/ok': 48, 'rollout/runs/failed': 16 }) },
  timeouts: { explorer: () => ({ 'rollout/attempts/timed_out': 9 }) },
  'broken-environments': { explorer: () => ({ 'rollout/attempts/environment_failed': 20 }) },
  'failing-services': { explorer: () => ({ 'rollout/runs/service_failed': 8 }) },
  'failing-tools': {
    explorer: () => ({ 'rollout/tool_calls/mean': 2, 'rollout/tool_errors/mean': 1.6 }),
  },
  'malformed-tool-calls': {
    explorer: () => ({
      'rollout/model/tool_calls/mean': 1,
      'rollout/model/malformed_tool_calls/mean': 0.6,
    }),
  },
  'unread-tool-calls': {
    explorer: () => ({
      ...constant(0)(),
      'rollout/model/tool_calls/mean': 0,
      'rollout/model/unread_tool_calls/mean': 1,
    }),
  },
  'broken-conversations': {
    explorer: () => ({ 'rollout/model/fork/history_edited/mean': 1.5 }),
  },
  'out-of-turns': { explorer: () => ({ 'rollout/out_of_turns/mean': 0.7 }) },
  'slow-tasks': { explorer: () => ({ 'rollout/time/task_execution/max': 90 }) },
  'judge-fails': {
    explorer: () => ({
      'rollout/judge_success/mean': 1,
      'rollout/runs/ok': 48,
      'rollout/runs/failed': 16,
      'rollout/runs/judge_failed': 16,
    }),
  },
  'late-rewards-expire': {
    explorer: () => ({ 'rollout/late_rewards/expired': 5, 'rollout/late_rewards/scored': 5 }),
  },

  'empty-prompts': {
    rollouts: rollouts(() => ({
      promptText: '<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n',
    })),
  },
  'empty-answers': {
    rollouts: rollouts((run, task) =>
      run < 4 ? { tokens: [10 + task, 20, 3], logprobs: [-1], responseText: ' \n' } : {},
    ),
  },
  'truncated-answers': { explorer: () => ({ 'rollout/model/response_truncated/mean': 0.4 }) },
  'prompt-too-long': { explorer: () => ({ 'rollout/runs/prompt_too_long': 12 }) },
  'duplicated-tasks': {
    rollouts: rollouts((_, task) => ({ tokens: [task % 2, 20, 1, 2, 3], logprobs: [-1, -1, -1] })),
  },
  'served-apart': {
    rollouts: rollouts((run, task) => ({
      eid: { batch: 1, task: `msg_${8 * task + run}`, run: 0 },
      info: { msgId: `msg_${8 * task + run}` },
    })),
  },
  'identical-answers': { explorer: () => ({ 'rollout/identical_group_share': 1 }) },

  'reward-floor': { explorer: constant(0) },
  'reward-ceiling': { explorer: constant(1) },
  'filtered-groups': {
    explorer: () => ({
      'experience_pipeline/group_advantages/zero_variance_ratio': 1,
      'experience_pipeline/reward_filter/filtered_count': 32,
      'experience_pipeline/filtered_count': 32,
    }),
    trainer: () => ({ 'actor/grad_norm': 0 }),
  },
  'uneven-rewards': {
    explorer: () => ({ 'experience_pipeline/group_advantages/uneven_runs': 16 }),
  },
  'no-variance': {
    explorer: () => ({ 'experience_pipeline/group_advantages/zero_variance_ratio': 0.95 }),
  },
  'reward-follows-length': {
    rollouts: rollouts((run, task) => ({ ...answer(task, 4 + 4 * run), reward: run / 8 })),
  },
  'reward-follows-format': {
    rollouts: rollouts((run) => ({
      reward: run % 2 ? 0.2 : 0,
      metrics: { format_score: run % 2 ? 0.2 : 0, accuracy: 0 },
    })),
  },
  'reward-collapse': {
    explorer: (step) => ({ 'rollout/reward/mean': step < 9 ? step / 10 : 0.05 }),
  },
  'eval-falls': {
    explorer: (step): Metrics => {
      if (step !== 1 && step !== 12) return {};
      const value = step === 1 ? 0.8 : 0.5;
      return {
        'eval/fresh/accuracy/mean@1': value,
        'eval/fresh/accuracy/mean@1/ci95_low': value - 0.05,
        'eval/fresh/accuracy/mean@1/ci95_high': value + 0.05,
      };
    },
  },
  'flat-reward': {
    steps: 60,
    explorer: (step) => ({ 'rollout/reward/mean': 0.3 + ((step * 7) % 10) / 100 }),
  },

  'entropy-collapse': { trainer: (step) => ({ 'actor/entropy': 2 / step ** 2 }) },
  'ratio-explodes': { trainer: () => ({ 'actor/pg_clipfrac': 0.6 }) },
  'kl-explodes': { trainer: () => ({ 'actor/ppo_kl': 1.4 }) },
  'reference-drift': { trainer: () => ({ 'actor/kl_loss': 12 }) },
  'gradient-explodes': { trainer: (step) => ({ 'actor/grad_norm': step === 11 ? 400 : 0.6 }) },
  'not-finite': { trainer: (step) => ({ 'actor/grad_norm': step > 10 ? -1 : 0.6 }) },
  'updates-skipped': { trainer: (step) => ({ 'actor/update_skipped': step % 2 }) },
  'zero-learning-rate': { trainer: () => ({ 'actor/lr': 0 }) },
  'no-gradient': { trainer: () => ({ 'actor/grad_norm': 0 }) },
  'sampler-mismatch': {
    trainer: () => ({
      'sample/staleness/mean': 0,
      'sample/staleness/max': 0,
      'training/rollout_logprobs_diff_mean': 0.2,
    }),
  },
  'critic-blind': {
    steps: 30,
    explorer: (step) => ({ 'rollout/reward/mean': 0.2 + step / 60 }),
    trainer: () => ({ 'actor/entropy': 1, 'critic/vf_explained_var': -0.3 }),
  },
};
