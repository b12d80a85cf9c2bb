/** Declares reward functions of plugins. */
import type { Needs, RewardFn } from '@trinity-rft/core';
import { checkDefinition } from '@trinity-rft/core/support';

/** A reward function as it is registered. */
export interface RewardDefinition {
  readonly kind: 'trinity-rft.reward';
  readonly name: string;
  /** True if the function compares responses with the task's reference answer. @default false */
  readonly needsTruth?: boolean;
  /** Requirements of the reward function. @default no requirements */
  readonly needs?: Needs;
  /**
   * Creates the reward function from its configured arguments.
   * @throws ConfigError for invalid arguments, if the function is built in
   */
  create(args: Readonly<Record<string, unknown>>): RewardFn;
}

/**
 * Declares a reward function that `default_reward_fn_type` can name. Export the result from a
 * plugin, or pass it to the launcher.
 * @throws ConfigError for a name with characters that are not allowed, for unknown options, and
 * without `score`
 */
export function defineReward(options: {
  readonly name: string;
  readonly score: RewardFn;
  /** Requirements of the reward function. @default no requirements */
  readonly needs?: Needs;
}): RewardDefinition {
  return {
    kind: 'trinity-rft.reward',
    name: checkDefinition('Reward function', options, { score: 'function', needs: 'value' }),
    needs: options.needs,
    create: () => options.score,
  };
}
