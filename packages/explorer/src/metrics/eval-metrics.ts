/**
 * Metrics of one evaluation: mean@k, std@k, best@n, worst@n, pass@n, pass^n, confidence intervals,
 * counts.
 */
import { type Metrics, gatherMetrics, mean } from '@trinity-rft/core';
import { populationStd } from '@trinity-rft/core/internal';
import { meanInterval } from './interval.js';
import {
  expectedBest,
  expectedBestOfDraws,
  expectedWorst,
  expectedWorstOfDraws,
} from './pass-at-n.js';
import { countedValue, isOk, reportedKeys, type TaskOutcome } from '../runs/outcome.js';

/**
 * Computes the metrics of each key for each task over its k rollouts, and then averages them over
 * tasks.
 *
 * | name | meaning |
 * |---|---|
 * | `<key>/mean@k`, `<key>/std@k` | mean and population standard deviation over rollouts |
 * | `<key>/best@n`, `<key>/worst@n` | expected largest and smallest of n draws with replacement, which Trinity-RFT estimates |
 * | `<key>/pass@n`, `<key>/pass^n` | expected largest and smallest of n rollouts without replacement: pass@n and pass^n for 0/1 values |
 * | `<key>/mean@k/ci95_low`, `.../ci95_high` | 95% confidence interval of `mean@k` over tasks, for two tasks or more |
 * | `task_count`, `run_count` | number of tasks and of rollouts |
 * | `finished_task_count`, `failed_task_count`, `failed_run_count` | tasks without a failed rollout, tasks with only failed rollouts, failed rollouts |
 *
 * n is 2, 4, … < k and k, if k > 1. A rollout that failed or lacks a key counts as 0, so that names
 * depend only on `repeat_times`, and failures cannot raise a score. `detailed` adds `/mean`,
 * `/max`, `/min` and `/std` over tasks to each metric. Times are plain means.
 */
export function evalMetrics(
  outcomes: readonly TaskOutcome[],
  options: { readonly detailed?: boolean } = {},
): Metrics {
  const runs = outcomes.flatMap((outcome) => outcome.runs);
  let out: Record<string, number> = {
    task_count: outcomes.length,
    run_count: runs.length,
    finished_task_count: outcomes.filter((outcome) => outcome.runs.every(isOk)).length,
    failed_task_count: outcomes.filter((outcome) => !outcome.runs.some(isOk)).length,
    failed_run_count: runs.filter((run) => !isOk(run)).length,
  };
  for (const key of reportedKeys(outcomes)) {
    const perTask = outcomes.map(({ runs: each }) =>
      keyMetrics(
        key,
        each.map((run) => countedValue(run, key)),
      ),
    );
    out = { ...out, ...overTasks(perTask) };
    if (options.detailed) out = { ...out, ...gatherMetrics(perTask, '', { std: true }) };
  }
  if (outcomes.length > 0)
    out['time/task_execution'] = mean(outcomes.map((outcome) => outcome.seconds));
  return out;
}

/**
 * Returns the metrics of one key over the rollouts of one task, named as in {@link evalMetrics}.
 */
export function keyMetrics(key: string, values: readonly number[]): Metrics {
  if (/time\/(?:task|run)_execution/.test(key)) return { [key]: mean(values) };
  const k = values.length;
  const out: Record<string, number> = {
    [`${key}/mean@${k}`]: mean(values),
    [`${key}/std@${k}`]: populationStd(values),
  };
  for (const n of drawCounts(k)) {
    out[`${key}/best@${n}`] = expectedBestOfDraws(values, n);
    out[`${key}/worst@${n}`] = expectedWorstOfDraws(values, n);
    out[`${key}/pass@${n}`] = expectedBest(values, n);
    out[`${key}/pass^${n}`] = expectedWorst(values, n);
  }
  return out;
}

/**
 * Returns the means over the tasks that have a metric (all tasks, unless their numbers of rollouts
 * differ), with confidence intervals.
 */
function overTasks(perTask: readonly Metrics[]): Metrics {
  const out: Record<string, number> = {};
  for (const name of new Set(perTask.flatMap(Object.keys))) {
    const values = perTask.flatMap((metrics) => metrics[name] ?? []);
    out[name] = mean(values);
    const interval = name.includes('/mean@') ? meanInterval(values) : undefined;
    if (!interval) continue;
    out[`${name}/ci95_low`] = interval.low;
    out[`${name}/ci95_high`] = interval.high;
  }
  return out;
}

function drawCounts(k: number): readonly number[] {
  const counts: number[] = [];
  for (let n = 2; n < k; n *= 2) counts.push(n);
  if (k > 1) counts.push(k);
  return counts;
}
