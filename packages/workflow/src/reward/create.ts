/** Creates reward functions by their names in configurations. */
import type { RewardFn } from '@trinity-rft/core';
import { pickRow } from '@trinity-rft/core/support';
import { accuracyReward } from './rewards/accuracy-reward.js';
import { countdownReward } from './rewards/countdown-reward.js';
import type { RewardKind, RewardTools } from './rewards/shared/reward-kind.js';
import { exactMatchReward } from './rewards/exact-match-reward.js';
import { formatReward } from './rewards/format-reward.js';
import { lengthPenaltyReward } from './rewards/length-penalty-reward.js';
import { mathBoxedReward } from './rewards/math-boxed-reward.js';
import { mathDapoReward } from './rewards/math-dapo-reward.js';
import { mathEvalReward } from './rewards/math-eval-reward.js';
import { mathReward } from './rewards/math-reward.js';
import { overlongPenaltyReward } from './rewards/overlong-penalty-reward.js';
import { rlcrReward } from './rewards/rlcr-reward.js';
import { rmGalleryReward } from './rewards/rm-gallery-reward.js';
import { toolCallReward } from './rewards/tool-call-reward.js';

const withoutTruth: ReadonlySet<string> = new Set(['format_reward', 'overlong_penalty_reward']);

/** Built-in reward functions by name. Adding one requires a file, and an entry in this table. */
export const rewardKinds: Readonly<Record<string, RewardKind>> = {
  accuracy_reward: accuracyReward,
  countdown_reward: countdownReward,
  exact_match_reward: exactMatchReward,
  format_reward: formatReward,
  length_penalty_reward: lengthPenaltyReward,
  math_boxed_reward: mathBoxedReward,
  math_dapo_reward: mathDapoReward,
  math_eval_reward: mathEvalReward,
  math_reward: mathReward,
  overlong_penalty_reward: overlongPenaltyReward,
  rlcr_reward: rlcrReward,
  rm_gallery_reward: rmGalleryReward,
  tool_call_reward: toolCallReward,
};

/** Names of reward functions that compare a response with the task's reference answer. */
export const rewardsOfTruth: ReadonlySet<string> = new Set(
  Object.keys(rewardKinds).filter((name) => !withoutTruth.has(name)),
);

/** Names that {@link createRewardFn} accepts, sorted. */
export const rewardFnNames: readonly string[] = Object.keys(rewardKinds).toSorted();

/**
 * Creates a reward function by its name. `args` are its arguments in snake case, as in the YAML
 * file.
 * @throws ConfigError for an unknown name, an unknown argument or a value out of range
 */
export function createRewardFn(
  name: string,
  args: Readonly<Record<string, unknown>>,
  tools?: RewardTools,
): RewardFn {
  return pickRow('reward function', rewardKinds, name).create(args, tools);
}
