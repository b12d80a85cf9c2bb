/** The reward seam: a function that says how well a response did. */

export interface RewardInput {
  /** The model's final text, without reasoning when a reasoning parser takes it out. */
  readonly response: string;
  /** Expected answer, if the task has one. */
  readonly truth: string | undefined;
  readonly prompt: string | undefined;
  readonly rawTask: Readonly<Record<string, unknown>>;
  /**
   * Number of tokens that the model sampled for the response, where the workflow knows it; rewards
   * of length need it.
   */
  readonly responseTokens?: number;
  /** What the reasoning parser took out of the response; rewards of layout put it back. */
  readonly reasoning?: string;
}

/**
 * Named parts; the reward is their sum, and each part is a metric. A bare number is the part
 * `reward`.
 */
export type RewardParts = Readonly<Record<string, number>>;

export type RewardFn = (input: RewardInput) => RewardParts | number | Promise<RewardParts | number>;
