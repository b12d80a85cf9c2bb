/** The reward seam: a function that says how well a response did. */

export interface RewardInput {
  /** The model's final text, without reasoning if a reasoning parser removes it. */
  readonly response: string;
  /** Expected answer, if the task has one. */
  readonly truth: string | undefined;
  readonly prompt: string | undefined;
  readonly rawTask: Readonly<Record<string, unknown>>;
  /**
   * Number of tokens that the model sampled for the response, if the workflow knows it; length
   * rewards need it.
   */
  readonly responseTokens?: number;
  /** The reasoning that a parser removed from the response; format rewards need it. */
  readonly reasoning?: string;
}

/**
 * Named parts; the reward is their sum, and each part is a metric. A bare number is the part
 * `reward`.
 */
export type RewardParts = Readonly<Record<string, number>>;

/** Parts with the reason of each, which is stored with the rollout as `info.reasons`. */
export interface ReasonedReward {
  readonly parts: RewardParts;
  /** Texts by the names of parts. */
  readonly reasons: Readonly<Record<string, string>>;
}

export type RewardResult = ReasonedReward | RewardParts | number;

export type RewardFn = (input: RewardInput) => RewardResult | Promise<RewardResult>;

/**
 * Single precision keeps seven digits: larger rewards lose the differences that are learned from,
 * and their sums and squares become infinite.
 */
const largestReward = 1e9;

/** For messages: what {@link isUsableReward} expects. */
export const usableReward = 'a finite number from -1e9 to 1e9';

/** True for a finite number, which a reward has to be. */
export const isUsableReward = (reward: number): boolean =>
  Number.isFinite(reward) && Math.abs(reward) <= largestReward;
