/**
 * Statistics of recorded rollouts within their groups. A group is a set of attempts at the same
 * task.
 */
import { mean } from '@trinity-rft/core';
import type { RolloutFacts } from './record.js';

/** Summary of all model calls of one rollout. */
export interface RecordedRun {
  readonly group: string;
  /** The last call, which has the reward. */
  readonly last: RolloutFacts;
  readonly calls: number;
  /** Number of trained tokens of all calls. */
  readonly trainedTokens: number;
  readonly isTruncated: boolean;
}

export function runsOf(rollouts: readonly RolloutFacts[]): readonly RecordedRun[] {
  const calls = Map.groupBy(rollouts, ({ group, run }) => `${group}/${run}`);
  return [...calls.values()].flatMap((own) => {
    const last = own.reduce((a, b) => (b.step > a.step ? b : a));
    return {
      group: last.group,
      last,
      calls: own.length,
      trainedTokens: own.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0),
      isTruncated: own.some((call) => call.isTruncated),
    };
  });
}

export interface Correlation {
  /**
   * Pearson correlation of the two values, each taken as its deviation from the mean of its group.
   */
  readonly value: number;
  /** Number of rollouts in groups with differing rewards. */
  readonly runs: number;
  /**
   * Within-group standard deviation of the value that is correlated with the reward, divided by the
   * mean of its absolute values.
   */
  readonly spread: number;
}

/**
 * Correlates the reward of rollouts with another value, within groups whose rewards differ. Returns
 * undefined if the reward or the value is constant within every group.
 * @param keyOf returns the group of a rollout
 * @param read returns the value to correlate with the reward
 * @param rewardOf returns the reward. @default the recorded reward of the rollout
 */
export function correlationWithin(
  runs: readonly RecordedRun[],
  keyOf: (run: RecordedRun) => string,
  read: (run: RecordedRun) => number | undefined,
  rewardOf: (run: RecordedRun) => number | undefined = ({ last }) => last.reward,
): Correlation | undefined {
  let [both, rewards, others, count, sum] = [0, 0, 0, 0, 0];
  for (const group of Map.groupBy(runs, keyOf).values()) {
    const pairs = group.flatMap((run) => {
      const other = read(run);
      const reward = rewardOf(run);
      return reward === undefined || other === undefined ? [] : [{ reward, other }];
    });
    const meanReward = mean(pairs.map(({ reward }) => reward));
    if (pairs.every(({ reward }) => reward === meanReward)) continue;
    const meanOther = mean(pairs.map(({ other }) => other));
    for (const { reward, other } of pairs) {
      both += (reward - meanReward) * (other - meanOther);
      rewards += (reward - meanReward) ** 2;
      others += (other - meanOther) ** 2;
      sum += Math.abs(other);
    }
    count += pairs.length;
  }
  if (rewards === 0 || others === 0) return undefined;
  return {
    value: both / Math.sqrt(rewards * others),
    runs: count,
    spread: Math.sqrt(others / count) / (sum / count),
  };
}
