/** Reward functions by the names that configurations use. */
import { pickRow, type RewardFn } from '@trinity-rft/core';
import { accuracyReward } from './accuracy-reward.js';
import type { RewardKind } from './define.js';
import { exactMatchReward } from './exact-match-reward.js';
import { formatReward } from './format-reward.js';
import { mathBoxedReward } from './math-boxed-reward.js';
import { mathReward } from './math-reward.js';

/** Every built-in reward function, with what documents say of it. */
export const rewardKinds: Readonly<Record<string, RewardKind>> = {
  accuracy_reward: accuracyReward,
  exact_match_reward: exactMatchReward,
  format_reward: formatReward,
  math_boxed_reward: mathBoxedReward,
  math_reward: mathReward,
};

/** The names that {@link createRewardFn} knows, sorted. */
export const rewardFnNames: readonly string[] = Object.keys(rewardKinds).toSorted();

/**
 * The reward function of a name. `args` carry the snake_case names of the YAML.
 * @throws ConfigError for an unknown name, an unknown argument or a value out of range
 */
export function createRewardFn(name: string, args: Readonly<Record<string, unknown>>): RewardFn {
  return pickRow('reward function', rewardKinds, name).create(args);
}
