/**
 * Reads the rewards of rollouts, computes statistics of groups, and assigns scores to tokens, for
 * group-relative advantages.
 */
import {
  type Arg,
  type Experience,
  type Metrics,
  gatherMetrics,
  mean,
  onlyWith,
  RewardError,
  uid,
  withFields,
} from '@trinity-rft/core';
import { populationStd, sampleStd } from '@trinity-rft/core/internal';

export const grpoSource = {
  title:
    'DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models, section 4.1',
  url: 'https://arxiv.org/abs/2402.03300',
};

/**
 * Returns the reward of an experience.
 * @throws RewardError if the reward is missing or not finite
 */
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

/**
 * Returns a copy of an experience with another reward. Changes `info.step_reward` in the same way,
 * and adds the difference to the last token reward and to the reward of the last call, because some
 * algorithms read these instead of `reward`.
 * @throws RewardError if the experience has no finite reward
 */
export function withChangedReward(
  experience: Experience,
  change: (reward: number) => number,
): Experience {
  const { tokenRewards, spans, info } = experience;
  const { step_reward: stepReward } = info;
  const before = rewardOf(experience);
  const reward = change(before);
  const difference = reward - before;
  const last = spans?.at(-1);
  return withFields(experience, {
    reward,
    ...(tokenRewards && {
      tokenRewards: tokenRewards.with(-1, tokenRewards.at(-1)! + difference),
    }),
    ...(last?.reward !== undefined && {
      spans: spans?.with(-1, { ...last, reward: last.reward + difference }),
    }),
    ...(typeof stepReward === 'number' && {
      info: { ...info, step_reward: change(stepReward) },
    }),
  });
}

/**
 * Returns the reward of a rollout, which is the reward of its last call.
 * @param run calls of the rollout, by ascending step
 * @throws RewardError if the reward of a call is missing or not finite
 */
export function rewardOfRun(run: readonly Experience[]): number {
  return run.map(rewardOf).at(-1)!;
}

/**
 * Returns the sum of the token rewards of all calls of a rollout. Adds the reward of the last call
 * if that call has no token rewards.
 * @throws RewardError if a call has neither token rewards nor a finite reward, or if the sum is not
 * finite
 */
export function returnOfRun(run: readonly Experience[]): number {
  const last = run.at(-1)!;
  const rewards = run.filter(({ tokenRewards }) => !tokenRewards).map(rewardOf);
  let sum = last.tokenRewards ? 0 : rewards.at(-1)!;
  for (const { tokenRewards = [] } of run) for (const reward of tokenRewards) sum += reward;
  return rewardOf({ ...last, reward: sum });
}

/**
 * Returns the metric `group_advantages/uneven_runs`: the number of rollouts whose calls without
 * token rewards have different rewards. A rollout's reward is that of its last call, so the other
 * rewards are lost. The metric is omitted if there are no such rollouts.
 */
export function unevenMetrics(runs: readonly (readonly Experience[])[]): Metrics {
  const uneven = runs.filter((run) => {
    const whole = run.filter(({ tokenRewards }) => !tokenRewards);
    return whole.some(({ reward }) => reward !== whole[0]!.reward);
  }).length;
  return uneven === 0 ? {} : { 'group_advantages/uneven_runs': uneven };
}

export interface GroupStats {
  readonly mean: number;
  /** Sample standard deviation (n - 1). */
  readonly std: number;
  readonly size: number;
}

/**
 * Returns mean and sample standard deviation of the rewards of a group. A group of one rollout has
 * mean 0 and deviation 1, so that the score equals the reward. Equal rewards have a deviation of
 * exactly 0, without rounding errors.
 */
export function groupStats(rewards: readonly number[]): GroupStats {
  const size = rewards.length;
  if (size === 1) return { mean: 0, std: 1, size };
  return { mean: groupMean(rewards), std: allEqual(rewards) ? 0 : sampleStd(rewards), size };
}

/**
 * Returns the sample standard deviation over all rewards of a batch, or 1 if there are fewer than
 * two rewards.
 */
export const batchStd = (rewards: readonly number[]): number =>
  rewards.length <= 1 ? 1 : groupStats(rewards).std;

/** Standard deviation that a score is divided by: the group's, the batch's, or none (1). */
export const stdCalLevels = ['group', 'batch', 'none'] as const;
export type StdCalLevel = (typeof stdCalLevels)[number];

/**
 * Declares that an argument has an effect only if `stdCalLevel` is not `none`, that is, if scores
 * are divided by a standard deviation.
 */
export const dividing = <T>(arg: Arg<T>): Arg<T> =>
  onlyWith('std_cal_level: group or batch', ({ stdCalLevel }) => stdCalLevel !== 'none', arg);

export function stdOf(
  level: StdCalLevel,
  group: GroupStats,
  batch: number,
  epsilon: number,
): number {
  return level === 'none' ? 1 : (level === 'batch' ? batch : group.std) + epsilon;
}

/**
 * Returns (R_i - mean(R)) / divisor for each reward. If the divisor is 0, returns 0 for each: the
 * divisor can only be 0 if epsilon is 0 and all rewards are equal.
 */
export const relativeScores = (
  rewards: readonly number[],
  { mean: center }: Pick<GroupStats, 'mean'>,
  divisor: number,
): readonly number[] => rewards.map((reward) => (divisor === 0 ? 0 : (reward - center) / divisor));

/**
 * Returns true if a threshold is set and the group gives no learning signal, either because it has
 * a single rollout or because the standard deviation of its rewards does not exceed the threshold.
 */
export const isDropped = (stats: GroupStats, threshold: number | undefined): boolean =>
  threshold !== undefined && (stats.size === 1 || stats.std <= threshold);

/** Returns the share of groups whose rewards are all equal. Such groups give no learning signal. */
export function zeroVarianceRatio(groups: readonly (readonly number[])[]): number {
  return groups.filter(allEqual).length / groups.length;
}

/**
 * Returns the metrics `group_advantages/{reward_mean,reward_std}/{mean,max,min}` and
 * `group_advantages/zero_variance_ratio`.
 */
export const groupMetrics = (
  groups: readonly { readonly stats: GroupStats; readonly rewards: readonly number[] }[],
): Metrics => ({
  ...gatherMetrics(
    groups.map(({ stats }) => ({ reward_mean: stats.mean, reward_std: stats.std })),
    'group_advantages',
  ),
  'group_advantages/zero_variance_ratio': zeroVarianceRatio(groups.map(({ rewards }) => rewards)),
});

const allEqual = (rewards: readonly number[]): boolean =>
  rewards.every((reward) => reward === rewards[0]);

/**
 * Returns the arithmetic mean. If all rewards are equal, the result is exactly that reward, without
 * rounding errors.
 */
export const groupMean = (rewards: readonly number[]): number =>
  allEqual(rewards) ? rewards[0]! : mean(rewards);

/**
 * Returns the population standard deviation, which is exactly 0 for equal rewards, without rounding
 * errors.
 */
export const populationDeviation = (rewards: readonly number[]): number =>
  allEqual(rewards) ? 0 : populationStd(rewards);

/** Returns a copy of an experience with `advantages` and `returns` set to score * actionMask. */
export function withScore(experience: Experience, score: number): Experience {
  const { actionMask } = experience;
  const advantages = new Float32Array(actionMask.length);
  for (let t = 0; t < actionMask.length; t++) if (actionMask[t] === 1) advantages[t] = score;
  return withFields(experience, { advantages, returns: advantages.slice() });
}
