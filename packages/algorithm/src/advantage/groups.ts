/** What the group-relative advantages share: rewards of groups, and writing a score onto tokens. */
import { RewardError, sampleStd, mean, uid, withFields, type Experience } from '@trinity-rft/core';

/** @throws RewardError when it has none, or one that is not finite */
export function rewardOf(experience: Experience): number {
  const { reward } = experience;
  if (reward !== undefined && Number.isFinite(reward)) return reward;
  const what = reward === undefined ? 'has no reward' : `has the reward ${reward}`;
  throw new RewardError(
    `Experience ${uid(experience.eid)} ${what}; a group-relative advantage needs a finite number. Let the workflow set \`reward\` on every experience.`,
    {
      code: 'REWARD_MISSING',
      details: { uid: uid(experience.eid) },
    },
  );
}

export interface GroupStats {
  readonly mean: number;
  /** Of the sample (n - 1). */
  readonly std: number;
  readonly size: number;
}

/**
 * Mean and sample standard deviation of the rewards of a group. A group of one has mean 0 and deviation 1, so that its score
 * is its reward. Equal rewards have deviation exactly 0, whatever their rounding.
 */
export function groupStats(rewards: readonly number[]): GroupStats {
  const size = rewards.length;
  if (size === 1) return { mean: 0, std: 1, size };
  if (allEqual(rewards)) return { mean: rewards[0]!, std: 0, size };
  return { mean: mean(rewards), std: sampleStd(rewards), size };
}

/** Deviation over all rewards of a batch; 1 for a single one. */
export const batchStd = (rewards: readonly number[]): number => (rewards.length <= 1 ? 1 : groupStats(rewards).std);

/** What divides a score: of the group, of the batch, or 1. */
export const stdCalLevels = ['group', 'batch', 'none'] as const;

export function stdOf(level: (typeof stdCalLevels)[number], group: GroupStats, batch: number, epsilon: number): number {
  return level === 'none' ? 1 : (level === 'batch' ? batch : group.std) + epsilon;
}

/** A threshold drops groups that tell nothing: single runs and rewards that hardly differ. */
export const isDropped = (stats: GroupStats, threshold: number | undefined): boolean =>
  threshold !== undefined && (stats.size === 1 || stats.std <= threshold);

/** Share of groups whose rewards are all equal: they teach nothing relative to each other. */
export function zeroVarianceRatio(groups: readonly (readonly number[])[]): number {
  return groups.filter(allEqual).length / groups.length;
}

const allEqual = (rewards: readonly number[]): boolean => rewards.every((reward) => reward === rewards[0]);

/** A copy with `advantages` and `returns` = score * actionMask. */
export function withScore(experience: Experience, score: number): Experience {
  const advantages = Float32Array.from(experience.actionMask, (bit) => (bit === 1 ? score : 0));
  return withFields(experience, { advantages, returns: advantages.slice() });
}
