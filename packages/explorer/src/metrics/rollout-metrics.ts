/**
 * Metrics of one explore step. They are computed per rollout, then per task, then over the step.
 */
import { type Metrics, gatherMetrics, meanMetrics, TrinityError } from '@trinity-rft/core';
import { isOk, reportedKeys, type TaskOutcome } from '../runs/outcome.js';
import type { UsableOutcome } from '../runs/wait-for-enough.js';
import { identicalGroupShare } from './identical-groups.js';

const failureKinds = [
  'failed',
  'timed_out',
  'prompt_too_long',
  'environment_failed',
  'environment_crashed',
  'service_failed',
] as const;

/**
 * Returns the metrics of an explore step under `rollout/`, and `time/wait_environment`. Counts
 * failed rollouts, but excludes them from means.
 */
export function rolloutMetrics(outcomes: readonly TaskOutcome[], policyVersion: number): Metrics {
  const runs = outcomes.flatMap((outcome) => outcome.runs);
  const counters = [...reportedKeys(outcomes)].filter((name) => name.startsWith('model/'));
  const perTask = outcomes
    .map((outcome) => taskMetrics(outcome, counters))
    .filter((metrics) => Object.keys(metrics).length > 0);
  const identical = identicalGroupShare(outcomes);
  const counts = Object.fromEntries(
    failureKinds.map((kind) => [
      `rollout/runs/${kind}`,
      runs.filter((run) => run.status === 'failed' && run.kind === kind).length,
    ]),
  );
  return {
    'rollout/model_version': policyVersion,
    'rollout/finished_task_count': outcomes.filter((outcome) => outcome.runs.some(isOk)).length,
    'rollout/failed_task_count': outcomes.filter(
      (outcome) => !outcome.isCutOff && !outcome.runs.some(isOk),
    ).length,
    'rollout/runs/ok': runs.filter(isOk).length,
    ...counts,
    'rollout/runs/judge_failed': runs.filter(
      (run) =>
        run.status === 'failed' && TrinityError.is(run.error) && run.error.code === 'JUDGE_FAILED',
    ).length,
    'rollout/runs/failure_rewarded': runs.filter((run) => isOk(run) && run.failure).length,
    'rollout/runs/retried': outcomes.reduce((sum, outcome) => sum + outcome.retries, 0),
    'rollout/attempts/timed_out': outcomes.reduce((sum, outcome) => sum + outcome.timeouts, 0),
    'rollout/attempts/environment_failed': outcomes.reduce(
      (sum, { environmentFailures = 0 }) => sum + environmentFailures,
      0,
    ),
    'time/wait_environment': Math.max(
      0,
      ...outcomes.map(({ environmentWaitSeconds = 0 }) => environmentWaitSeconds),
    ),
    ...(identical !== undefined && { 'rollout/identical_group_share': identical }),
    ...gatherMetrics(perTask, 'rollout'),
  };
}

/**
 * Returns metrics of an explore step that does not wait for all tasks, under `rollout/`:
 * `tasks/cancelled` (tasks that were cut off), `tasks/partial` (cut-off tasks whose finished
 * rollouts are used), `runs/cancelled` (rollouts that were in progress or not begun), `runs/unused`
 * (finished rollouts of cut-off tasks that are not used) and `runs/late` (rollouts of any step that
 * returned after their attempt had ended).
 */
export function cutOffMetrics(outcomes: readonly UsableOutcome[], lateResults: number): Metrics {
  const cutOff = outcomes.filter(({ isCutOff }) => isCutOff);
  const cancelled = cutOff.flatMap(({ runs }) =>
    runs.filter((run) => run.status === 'failed' && run.kind === 'cancelled'),
  );
  return {
    'rollout/tasks/cancelled': cutOff.length,
    'rollout/tasks/partial': cutOff.filter(({ runs }) => runs.some(isOk)).length,
    'rollout/runs/cancelled': cancelled.length,
    'rollout/runs/unused': cutOff.reduce((sum, { unusedRuns }) => sum + unusedRuns, 0),
    'rollout/runs/late': lateResults,
  };
}

/**
 * Returns the means of the metrics of a task's successful rollouts, and the durations.
 * @param counters names of all counters of model calls that occur in the step
 */
function taskMetrics(outcome: TaskOutcome, counters: readonly string[]): Metrics {
  const ok = outcome.runs.filter(isOk);
  if (ok.length === 0) return {};
  return {
    ...meanMetrics(
      ok.map((run) => ({
        ...withZeros(run.metrics, counters),
        'time/run_execution': run.seconds,
      })),
    ),
    'time/task_execution': outcome.seconds,
  };
}

/**
 * Adds the missing counters with the value 0, because rollouts omit counters that are 0. Otherwise,
 * means would only include the other rollouts, and would be too large.
 */
function withZeros(metrics: Metrics, counters: readonly string[]): Metrics {
  if (metrics['model/calls'] === undefined) return metrics;
  return { ...metrics, ...Object.fromEntries(counters.map((name) => [name, metrics[name] ?? 0])) };
}
