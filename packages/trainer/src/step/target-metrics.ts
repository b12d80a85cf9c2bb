/** Metrics of the targets of a batch: advantages, returns, values, groups. */
import { runKey, type Metrics, gatherMetrics, taskKey } from '@trinity-rft/core';
import { sampledOnly, type PackedBatch } from './pack.js';
import type { Targets } from './targets.js';

interface TargetMetricsOptions {
  /** Values of the critic. [N] */
  readonly values?: Float32Array;
  readonly repeatTimes: number;
}

/**
 * Returns metrics of the targets of sampled rows; demonstrations have no targets. Over trained
 * tokens: `critic/{advantages,returns,values}/{mean,max,min}` and `critic/vf_explained_var`. Over
 * calls: `critic/score/{mean,max,min}` (before the KL penalty), `critic/rewards/{mean,max,min}`
 * (after it) and `sample/zero_advantage_ratio`. If advantages are computed from the batch, also
 * `sample/partial_group_count`, the number of tasks with fewer than `repeatTimes` rollouts in the
 * batch. The advantages of such a task's rollouts are relative to only a part of their group. To
 * avoid that, make the batch size a multiple of the group size.
 */
export function targetMetrics(
  batch: PackedBatch,
  targets: Targets,
  { values, repeatTimes }: TargetMetricsOptions,
): Metrics {
  const { advantages, returns, rewards, scores } = targets;
  const calls = batch.calls.filter((_, row) => batch.expertMask[row] === 0);
  if (calls.length === 0) return {};
  const mask = sampledOnly(batch, targets.actionMask);
  const stored = calls.every(({ experience }) => experience.advantages);
  return {
    ...(rewards && scores && gatherMetrics(sumsOf(calls, scores, rewards), 'critic')),
    ...((returns !== undefined || stored) && {
      ...tokenStats('critic/advantages', advantages, mask),
      ...zeroAdvantages(calls, advantages, mask),
    }),
    ...(returns && tokenStats('critic/returns', returns, mask)),
    ...(values && tokenStats('critic/values', values, mask)),
    ...(values && returns && explainedVariance(values, returns, mask)),
    ...(returns &&
      repeatTimes > 1 && { 'sample/partial_group_count': partialGroups(calls, repeatTimes) }),
  };
}

type Calls = PackedBatch['calls'];

function sumsOf(
  calls: Calls,
  scores: Float32Array,
  rewards: Float32Array,
): readonly Readonly<Record<'score' | 'rewards', number>>[] {
  const sum = (values: Float32Array, start: number, end: number): number =>
    values.subarray(start, end).reduce((total, value) => total + value, 0);
  return calls.map(({ start, end }) => ({
    score: sum(scores, start, end),
    rewards: sum(rewards, start, end),
  }));
}

/**
 * Returns the mean, maximum and minimum over the tokens that the mask keeps, or no metrics if it
 * keeps no token.
 */
function tokenStats(name: string, values: Float32Array, mask: Uint8Array): Metrics {
  let [count, sum, max, min] = [0, 0, -Infinity, Infinity];
  for (let i = 0; i < values.length; i++) {
    if (!mask[i]) continue;
    const value = values[i]!;
    count++;
    sum += value;
    max = Math.max(max, value);
    min = Math.min(min, value);
  }
  return count === 0
    ? {}
    : { [`${name}/mean`]: sum / count, [`${name}/max`]: max, [`${name}/min`]: min };
}

/** Returns the fraction of calls in which every trained token has the advantage 0. */
function zeroAdvantages(calls: Calls, advantages: Float32Array, mask: Uint8Array): Metrics {
  const flat = calls.filter(({ start, end }) => {
    for (let i = start; i < end; i++) if (mask[i] && advantages[i] !== 0) return false;
    return true;
  });
  return { 'sample/zero_advantage_ratio': flat.length / calls.length };
}

/**
 * Returns 1 - var(returns - values) / var(returns), which is 1 for perfect values and 0 for values
 * no better than the mean. Returns no metric if all returns are equal.
 */
function explainedVariance(values: Float32Array, returns: Float32Array, mask: Uint8Array): Metrics {
  const errors = variance(mask, (i) => returns[i]! - values[i]!);
  const all = variance(mask, (i) => returns[i]!);
  return all > 0 ? { 'critic/vf_explained_var': 1 - errors / all } : {};
}

/** Returns the population variance over the tokens that the mask keeps, computed in two passes. */
function variance(mask: Uint8Array, valueAt: (index: number) => number): number {
  let [count, sum] = [0, 0];
  mask.forEach((bit, i) => {
    if (!bit) return;
    count++;
    sum += valueAt(i);
  });
  const mean = sum / Math.max(1, count);
  let squares = 0;
  mask.forEach((bit, i) => {
    if (bit) squares += (valueAt(i) - mean) ** 2;
  });
  return squares / Math.max(1, count);
}

function partialGroups(calls: Calls, repeatTimes: number): number {
  const runs = new Map<string, Set<string>>();
  for (const { experience } of calls) {
    const key = taskKey(experience.eid);
    runs.set(key, (runs.get(key) ?? new Set()).add(runKey(experience.eid)));
  }
  return [...runs.values()].filter((members) => members.size < repeatTimes).length;
}
