/** Writes folders of runs with given contents, using the writers of real runs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sqliteExperienceStore } from '@trinity-rft/buffer';
import { createExperience, type Experience, type Metrics } from '@trinity-rft/core';
import { jsonlSink } from '@trinity-rft/monitor';

/** A run as a function of its steps. */
export interface WrittenRun {
  /** @default 12 */
  readonly steps?: number;
  /**
   * Metrics that override those of a healthy run.
   * @default no overrides
   */
  readonly explorer?: (step: number) => Metrics;
  readonly trainer?: (step: number) => Metrics;
  /**
   * Recorded experiences.
   * @default the experiences of a healthy run
   */
  readonly rollouts?: readonly Experience[];
  readonly failure?: string;
  /** Lines of the run's log. */
  readonly log?: string;
}

const healthyExplorer = (step: number): Metrics => ({
  'rollout/reward/mean': 0.2 + step / 40,
  'rollout/reward/max': 1,
  'rollout/reward/min': 0,
  'rollout/runs/ok': 64,
  'rollout/runs/failed': 0,
  'rollout/model/choices/mean': 1,
  'rollout/model/response_truncated/mean': 0.02,
  'rollout/model/spliced/mean': 0,
  'rollout/identical_group_share': 0.2,
  'rollout/time/task_execution/mean': 2,
  'rollout/time/task_execution/max': 6,
  'experience_pipeline/experience_count': 64,
  'experience_pipeline/filtered_count': 0,
  'experience_pipeline/group_advantages/zero_variance_ratio': 0.3,
});

const healthyTrainer = (step: number): Metrics => ({
  'actor/final_loss': 0.01,
  'actor/grad_norm': 0.5 + (step % 3) / 10,
  'actor/lr': 1e-4,
  'actor/entropy': 2 - Math.min(step, 12) / 20,
  'actor/ppo_kl': 0.001,
  'actor/pg_clipfrac': 0.01,
  'actor/update_skipped': 0,
  'sample/staleness/mean': 0.5,
  'sample/staleness/max': 1,
  'sample/run_count': 64,
  'sample/experience_count': 128,
  'sample/task_count': 8,
  'sample/stale_dropped': 0,
  'training/rollout_logprobs_diff_mean': 1e-4,
});

/** Eight attempts at each of eight tasks. Rewards differ within groups and do not follow the lengths. */
export const rollouts = (
  write: (
    run: number,
    task: number,
  ) => Partial<Parameters<typeof createExperience>[0]> = () => ({}),
): readonly Experience[] =>
  Array.from({ length: 64 }, (_, i) => {
    const [task, run] = [Math.floor(i / 8), i % 8];
    const length = 3 + (i % 5);
    return createExperience({
      tokens: [10 + task, 20, ...Array.from({ length }, (__, token) => token)],
      promptLength: 2,
      logprobs: Array.from({ length }, () => -1),
      reward: run % 2,
      policyVersion: 1,
      temperature: 1,
      eid: { batch: 1, task, run },
      promptText: `What is ${task} + 1?`,
      responseText: `${task + 1}`,
      ...write(run, task),
    });
  });

/** Writes the run into `folder` through the sink and store of real runs. */
export async function writeRun(folder: string, run: WrittenRun): Promise<void> {
  const sink = jsonlSink({ path: path.join(folder, 'monitor', 'metrics.jsonl') });
  for (let step = 1; step <= (run.steps ?? 12); step++) {
    sink.write({
      role: 'explorer',
      step,
      metrics: { ...healthyExplorer(step), ...run.explorer?.(step) },
    });
    sink.write({
      role: 'trainer',
      step,
      metrics: { ...healthyTrainer(step), ...run.trainer?.(step) },
    });
  }
  await sink.close();
  mkdirSync(path.join(folder, 'buffer'), { recursive: true });
  const store = sqliteExperienceStore({ path: path.join(folder, 'buffer', 'experiences.db') });
  await store.put(run.rollouts ?? rollouts());
  await store.close();
  if (run.failure !== undefined) writeFileSync(path.join(folder, 'failure.txt'), run.failure);
  if (run.log === undefined) return;
  mkdirSync(path.join(folder, 'log'));
  writeFileSync(path.join(folder, 'log', 'trinity.log'), run.log);
}
