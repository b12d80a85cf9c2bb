/** Declares reward functions of plugins. */
import type { Needs, ReasonedReward, RewardFn, RewardInput } from '@trinity-rft/core';
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

type Part = number | boolean;
type Parts = Readonly<Record<string, Part>>;

/** Reward that an author returns. The reader of the reward takes `true` as 1, and `false` as 0. */
export type AuthoredReward =
  | Part
  | Parts
  | (Omit<ReasonedReward, 'parts'> & { readonly parts: Parts });

/**
 * Declares a reward function that `default_reward_fn_type` can name. Export the result from a
 * plugin, or pass it to the launcher.
 * @throws ConfigError for a name with characters that are not allowed, without `score`, and for
 * an unknown option
 */
export function defineReward(options: {
  readonly name: string;
  readonly score: (input: RewardInput) => AuthoredReward | Promise<AuthoredReward>;
  /** Requirements of the reward function. @default no requirements */
  readonly needs?: Needs;
}): RewardDefinition {
  const { needs, score } = options;
  return {
    kind: 'trinity-rft.reward',
    name: checkDefinition('Reward function', options, { score: 'function', needs: 'any' }),
    needs,
    create: () => score as RewardFn,
  };
}
