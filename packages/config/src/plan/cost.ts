/** Computes an upper bound of a stage's price on a server that charges per token. */
import type { StageConfig } from '../resolve/base/resolved.js';
import { countWork, type StepPlan } from './steps.js';

export interface CostPlan {
  /** Parts of the price, in the order in which they are printed. */
  readonly parts: readonly CostPart[];
  /** Price in US dollars. */
  readonly total: number;
}

interface CostPart {
  readonly kind: 'prefill' | 'sample' | 'train';
  readonly tokens: number;
  /**
   * US dollars per million tokens. Undefined if the configuration has no price; the total then
   * excludes this part.
   */
  readonly price: number | undefined;
}

/**
 * Computes the price if every prompt and response has the maximum length and each rollout calls the
 * model once. Returns undefined if the engine is not `tinker`, if there are no prices, or if the
 * number of steps is unknown.
 */
export function planCost(stage: StageConfig, steps: StepPlan): CostPlan | undefined {
  const { prices } = stage.model.tinker;
  const kinds = ['prefill', 'sample', 'train'] as const;
  if (stage.engine !== 'tinker' || kinds.every((kind) => prices[kind] === undefined))
    return undefined;
  const amount = countWork(stage, steps);
  if (amount === undefined) return undefined;
  const { model, algorithm } = stage;
  const train = amount.trainRows * model.maxModelLen;
  // Both the policy and the reference compute log-probabilities.
  const passes = algorithm.needs.referenceLogprobs ? 2 : 1;
  const tokens = {
    prefill: amount.calls * model.maxPromptTokens + passes * train,
    sample: amount.calls * model.maxResponseTokens,
    train,
  };
  const parts = kinds.map((kind) => ({ kind, tokens: tokens[kind], price: prices[kind] }));
  const total = parts.reduce((sum, part) => sum + (part.tokens / 1e6) * (part.price ?? 0), 0);
  return { parts, total };
}
