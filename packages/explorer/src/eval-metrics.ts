/** Numbers about one evaluation: mean@k, std@k, and the exact expectation of best@n and worst@n. */
import { gatherMetrics, mean, populationStd, type Metrics } from '@trinity-rft/core';
import { isOk } from './rollout-metrics.js';
import type { TaskOutcome } from './run-task.js';

/**
 * Per task over its k runs, then the mean over tasks: `<key>/mean@k`, `<key>/std@k` (population) and for n = 2, 4, … < k and k:
 * `<key>/best@n`, `<key>/worst@n`. A run that failed counts as 0, so failures cannot raise a score; they are counted besides.
 * `detailed` adds `/mean`, `/max`, `/min` and `/std` over tasks to each.
 */
export function evalMetrics(outcomes: readonly TaskOutcome[], options: { readonly detailed?: boolean } = {}): Metrics {
  const runs = outcomes.flatMap((outcome) => outcome.runs);
  const keys = new Set(runs.filter(isOk).flatMap((run) => Object.keys(run.metrics)));
  let out: Record<string, number> = {
    finished_task_count: outcomes.filter((outcome) => outcome.runs.every(isOk)).length,
    failed_task_count: outcomes.filter((outcome) => !outcome.runs.some(isOk)).length,
    failed_run_count: runs.filter((run) => !isOk(run)).length,
  };
  for (const key of keys) {
    const perTask = outcomes.map((outcome) =>
      keyMetrics(
        key,
        outcome.runs.map((run) => (isOk(run) ? (run.metrics[key] ?? 0) : 0)),
      ),
    );
    for (const name of Object.keys(perTask[0] ?? {})) out[name] = mean(perTask.map((metrics) => metrics[name] ?? 0));
    if (options.detailed) out = { ...out, ...gatherMetrics(perTask, '', { std: true }) };
  }
  if (outcomes.length > 0) out['time/task_execution'] = mean(outcomes.map((outcome) => outcome.seconds));
  return out;
}

function keyMetrics(key: string, values: readonly number[]): Metrics {
  const k = values.length;
  const out: Record<string, number> = { [`${key}/mean@${k}`]: mean(values), [`${key}/std@${k}`]: populationStd(values) };
  for (const n of drawCounts(k)) {
    out[`${key}/best@${n}`] = expectedBest(values, n);
    out[`${key}/worst@${n}`] = -expectedBest(
      values.map((value) => -value),
      n,
    );
  }
  return out;
}

function drawCounts(k: number): readonly number[] {
  const counts: number[] = [];
  for (let n = 2; n < k; n *= 2) counts.push(n);
  if (k > 1) counts.push(k);
  return counts;
}

/**
 * Expectation of the largest of n draws without replacement from k values: sum over sorted v_(i) of v_(i) C(i-1, n-1) / C(k, n).
 * For 0/1 values it is pass@n = 1 - C(k-c, n)/C(k, n) (Chen et al., arXiv:2107.03374).
 */
export function expectedBest(values: readonly number[], n: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const k = sorted.length;
  // weight(i) = C(i-1, n-1) / C(k, n), from the largest value down: n/k for i = k, then times (i-n)/(i-1) for each step down.
  let weight = n / k;
  let sum = 0;
  for (let i = k; i >= n; i--) {
    sum += sorted[i - 1]! * weight;
    if (i > 1) weight *= (i - n) / (i - 1);
  }
  return sum;
}
