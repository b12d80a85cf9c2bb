/** Every usable reward function, with its required arguments and a truth that it can read. */
import type { RewardFn } from '@trinity-rft/core';
import { createRewardFn, rewardFnNames } from '../../src/reward/index.js';

const args: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  length_penalty_reward: { max_response_length: 100 },
  math_dapo_reward: { enable_overlong_penalty: true, max_response_length: 100, cache_length: 20 },
  overlong_penalty_reward: { max_response_length: 100, cache_length: 20 },
  rm_gallery_reward: { reward_name: 'math_verify_reward' },
};

const truths: Readonly<Record<string, string>> = {
  countdown_reward: '{"target": 98, "numbers": [44, 19, 35]}',
  tool_call_reward: '[{"name": "f", "arguments": {"a": 1}}]',
};

/**
 * A reward function that can be called. `truth` is undefined if any text can be the reference
 * answer.
 */
export interface RunnableReward {
  readonly name: string;
  readonly reward: RewardFn;
  readonly truth: string | undefined;
}

export const everyReward: readonly RunnableReward[] = rewardFnNames.map((name) => ({
  name,
  reward: createRewardFn(name, args[name] ?? {}),
  truth: truths[name],
}));
