/** Upper bound of a stage's price on a server that charges by the token. */
import type { StageConfig } from '../resolve/base/resolved.js';
import type { StepPlan } from './steps.js';

export interface CostPlan {
  /** In the order in which they are said. */
  readonly parts: readonly CostPart[];
  /** US dollars. */
  readonly total: number;
}

interface CostPart {
  readonly kind: 'prefill' | 'sample' | 'train';
  readonly tokens: number;
  /** US dollars for a million tokens; undefined: not given, and not part of the total. */
  readonly price: number | undefined;
}

/**
 * Every text as long as it may be, at one call of the model for each run. Undefined where there are
 * no prices, or the number of steps is not known.
 */
export function planCost(stage: StageConfig, steps: StepPlan): CostPlan | undefined {
  const { prices } = stage.model.tinker;
  const kinds = ['prefill', 'sample', 'train'] as const;
  if (stage.engine !== 'tinker' || kinds.every((kind) => prices[kind] === undefined))
    return undefined;
  const tokens = tokensOf(stage, steps);
  if (tokens === undefined) return undefined;
  const parts = kinds.map((kind) => ({ kind, tokens: tokens[kind], price: prices[kind] }));
  const total = parts.reduce((sum, part) => sum + (part.tokens / 1e6) * (part.price ?? 0), 0);
  return { parts, total };
}

function tokensOf(
  { mode, model, algorithm }: StageConfig,
  steps: StepPlan,
): Readonly<Record<CostPart['kind'], number>> | undefined {
  if (mode !== 'both' && mode !== 'train') return undefined;
  const { exploreSteps, trainSteps, evaluations, evalTasks } = steps;
  if (exploreSteps === undefined || trainSteps === undefined) return undefined;
  if (evaluations === undefined || (evaluations > 0 && evalTasks === undefined)) return undefined;
  const runs = exploreSteps * steps.mostTasksPerExploreStep * steps.runsPerTask;
  const calls = runs + evaluations * (evalTasks ?? 0);
  const rows = steps.trainBatchSize * (algorithm.schema === 'dpo' ? 2 : 1);
  const train = trainSteps * rows * model.maxModelLen;
  // Log-probabilities by the policy, and by the reference.
  const passes = algorithm.needs.referenceLogprobs ? 2 : 1;
  return {
    prefill: calls * model.maxPromptTokens + passes * train,
    sample: calls * model.maxResponseTokens,
    train,
  };
}
