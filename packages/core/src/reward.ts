/** Interface of reward functions, which score a response. */

export interface RewardInput {
  /** The model's final text, without reasoning if a reasoning parser removes it. */
  readonly response: string;
  /** Reference answer, if the task has one. */
  readonly truth: string | undefined;
  readonly prompt: string | undefined;
  readonly rawTask: Readonly<Record<string, unknown>>;
  /**
   * Number of tokens sampled for the response, if the workflow knows it. Length rewards need it.
   */
  readonly responseTokens?: number;
  /** Reasoning that a parser removed from the response; format rewards need it. */
  readonly reasoning?: string;
}

/** Named parts, whose sum is the reward. Each part is also a metric. */
export type RewardParts = Readonly<Record<string, number>>;

/** A reward whose parts have reasons. The reasons are stored with the rollout as `info.reasons`. */
export interface ReasonedReward {
  readonly parts: RewardParts;
  /** Explanations of the values, keyed by the name of the part. */
  readonly reasons: Readonly<Record<string, string>>;
}

export type RewardResult = ReasonedReward | RewardParts | number;

export type RewardFn = (input: RewardInput) => RewardResult | Promise<RewardResult>;

/**
 * Largest absolute value of a reward. Single precision has seven digits. Larger rewards would lose
 * the small differences that matter for learning, and their squares could become infinite.
 */
const largestReward = 1e9;

/** Noun phrase for messages: the values that {@link isUsableReward} accepts. */
export const usableReward = 'a finite number from -1e9 to 1e9';

/** Returns true for a finite number from -1e9 to 1e9. */
export const isUsableReward = (reward: number): boolean =>
  Number.isFinite(reward) && Math.abs(reward) <= largestReward;
