/** Rule that combines the rewards of the steps and the grade into the reward of an episode. */
export type RewardRule = 'last' | 'sum' | 'max';

/** Combines the rewards of an episode by a rule. Returns 0 if there are none. */
export const combineRewards = (rule: RewardRule, rewards: readonly number[]): number =>
  rules[rule](rewards);

const rules: Readonly<Record<RewardRule, (rewards: readonly number[]) => number>> = {
  last: (rewards) => rewards.at(-1) ?? 0,
  sum: (rewards) => rewards.reduce((sum, reward) => sum + reward, 0),
  max: (rewards) => (rewards.length === 0 ? 0 : Math.max(...rewards)),
};
