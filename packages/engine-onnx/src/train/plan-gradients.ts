/**
 * Plans the gradient computation for a batch: the micro-batches, and whether one graph computes the
 * whole model or gradients are computed layer by layer.
 */
import type { ModelConfig } from '../model/config.js';
import type { ParameterSpec } from '../model/parameters.js';
import {
  backwardCost,
  gradientBytes,
  layerwiseCost,
  mostOfBudget,
  type TrainingMemory,
} from './memory.js';
import { planGroups, type MicroBatch } from './micro-batch.js';
import { type MemoryCost } from './memory.js';
import { promptGroups, ungrouped, type PromptGroup } from './prompt-groups.js';
import type { Row } from './rows.js';

export interface GradientPlan {
  readonly plan: readonly MicroBatch[];
  readonly byLayer: boolean;
}

export interface GradientPlanOptions {
  readonly config: ModelConfig;
  /** The trained parameters. */
  readonly specs: readonly ParameterSpec[];
  /** True if `specs` are parameters of adapters. */
  readonly adapters: boolean;
  readonly memory: TrainingMemory;
  /** True if rows with the same prompt may be computed together. @default false */
  readonly canShare?: boolean;
  /** True if gradients can be computed layer by layer. */
  readonly canSplit: boolean;
  /** True if gradients can only be computed layer by layer. @default false */
  readonly mustSplit?: boolean;
}

/**
 * Minimum numbers of positions per micro-batch, for the whole model and for adapters. With this
 * many positions, accumulating gradients costs little compared to computing them. Adapters need
 * fewer, because their gradients are small.
 */
const [leastPositions, leastPositionsOfAdapters] = [1024, 256];

/**
 * Plans the gradient computation for rows. Prefers one graph for the whole model if memory allows
 * and `mustSplit` is not set. Computing layer by layer repeats the forward pass, which adds a third
 * to the arithmetic. The plan depends only on the arguments.
 */
export function planGradients(rows: readonly Row[], options: GradientPlanOptions): GradientPlan {
  const { config, specs, adapters, memory, canShare, canSplit, mustSplit = false } = options;
  const groupsWithin = (cost: MemoryCost, budget: number): readonly PromptGroup[] =>
    canShare ? promptGroups(rows, { config, cost, budget }) : rows.map(ungrouped);
  const planWithin = (cost: MemoryCost, budget: number): readonly MicroBatch[] =>
    planGroups(groupsWithin(cost, budget), cost, budget);
  const byLayer = (): GradientPlan => ({
    plan: planWithin(layerwiseCost(config), memory.budget),
    byLayer: true,
  });
  if (mustSplit) return byLayer();
  const cost = backwardCost(config);
  const returned = gradientBytes(specs);
  const needs = (plan: readonly MicroBatch[]): number => returned + largest(plan, cost);
  if (canSplit && memory.wholeModel !== undefined) {
    const least = adapters ? leastPositionsOfAdapters : leastPositions;
    const groups = groupsWithin(cost, Math.max(memory.budget, memory.wholeModel - returned));
    const budget = Math.max(memory.budget, costOfPositions(least, groups, cost));
    const plan = planGroups(groups, cost, budget);
    if (needs(plan) <= memory.wholeModel) return { plan, byLayer: false };
  }
  const plan = planWithin(cost, memory.budget);
  if (!canSplit || needs(plan) <= mostOfBudget(memory)) return { plan, byLayer: false };
  return byLayer();
}

const largest = (plan: readonly MicroBatch[], cost: MemoryCost): number =>
  Math.max(...plan.map((micro) => cost(micro.groups.length, micro.time, micro.picked)));

/**
 * Returns the memory of a micro-batch that has at least `least` positions and consists of groups as
 * long as the longest.
 */
function costOfPositions(least: number, groups: readonly PromptGroup[], cost: MemoryCost): number {
  const length = Math.max(2, ...groups.map((group) => group.length));
  const count = Math.max(...groups.map((group) => group.count));
  const rows = Math.ceil(least / length);
  return cost(rows, length, rows * count);
}
