/** Interface of reward functions, which score a response. */

export interface RewardInput {
  /** The model's final text, without reasoning if a reasoning parser removes it. */
  readonly response: string;
  /** Reference answer, if the task has one. */
  readonly truth: string | undefined;
  readonly prompt: string | undefined;
  readonly rawTask: Readonly<Record<string, unknown>>;
  /** Number of tokens sampled for the response, if the workflow knows it; length rewards need it. */
  readonly responseTokens?: number;
  /** Reasoning that a parser removed from the response; format rewards need it. */
  readonly reasoning?: string;
}

/**
 * Named parts, whose sum is the reward; each part is also a metric. A bare number counts as the
 * part `reward`.
 */
export type RewardParts = Readonly<Record<string, number>>;

/** Parts with the reason of each, which is stored with the rollout as `info.reasons`. */
export interface ReasonedReward {
  readonly parts: RewardParts;
  /** Explanation of the value of each part, by the name of the part. */
  readonly reasons: Readonly<Record<string, string>>;
}

export type RewardResult = ReasonedReward | RewardParts | number;

export type RewardFn = (input: RewardInput) => RewardResult | Promise<RewardResult>;

/**
 * Largest absolute value of a reward. Single precision has seven digits: larger rewards would lose
 * the differences that are learned from, and their sums and squares would become infinite.
 */
const largestReward = 1e9;

/** Noun phrase for messages: the values that {@link isUsableReward} accepts. */
export const usableReward = 'a finite number from -1e9 to 1e9';

/** True for a finite number within the allowed range. */
export const isUsableReward = (reward: number): boolean =>
  Number.isFinite(reward) && Math.abs(reward) <= largestReward;
