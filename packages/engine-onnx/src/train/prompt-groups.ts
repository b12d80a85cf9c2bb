/**
 * Groups rows into inputs of a gradient graph. A prompt group is one row of the batch, or several
 * rows with the same prompt, which is then computed once.
 */
import type { ModelConfig } from '../model/config.js';
import { parameterCount } from '../model/parameters.js';
import { keptPerLayer, transientPerLayer, type MemoryCost } from './memory.js';
import type { Row } from './rows.js';

export interface PromptGroup {
  readonly rows: readonly Row[];
  /** For each row, the index of the first input that predicts one of its response tokens. */
  readonly starts: readonly number[];
  /** Number of inputs that all rows of the group share; 0 for a single row. */
  readonly shared: number;
  /** Number of inputs: the shared inputs, and for each row its other tokens except the last. */
  readonly length: number;
  /** Number of response tokens of all rows. */
  readonly count: number;
}

export function ungrouped(row: Row): PromptGroup {
  const length = row.tokens.length - 1;
  return { rows: [row], starts: [row.promptLength - 1], shared: 0, length, count: row.count };
}

/**
 * Combines rows with the same prompt into one group. The rows share all prompt tokens except the
 * last, because its output predicts the first response token of each row.
 */
function grouped(rows: readonly Row[]): PromptGroup {
  const shared = (rows[0]?.promptLength ?? 1) - 1;
  let length = shared;
  const starts = rows.map(({ count }) => (length += count) - count);
  return { rows, starts, shared, length, count: length - shared };
}

export interface PromptGroupOptions {
  readonly config: ModelConfig;
  readonly cost: MemoryCost;
  /** Memory for one group, in bytes. The longest row alone may exceed it. */
  readonly budget: number;
}

/**
 * Divides the rows with the same prompt into groups of the cheapest size. Each group fits the
 * budget or needs no more memory than the longest row. Rows stay separate unless grouping saves a
 * third of the work, because wider attention is more expensive than estimated. Rows of small models
 * and rows with prompts of one token are never grouped.
 */
export function promptGroups(
  rows: readonly Row[],
  { config, cost, budget }: PromptGroupOptions,
): readonly PromptGroup[] {
  const { perPosition, perScore } = operationsOf(config);
  const alone = rows.map(ungrouped);
  if (perPosition < leastOperations) return alone;
  const memory = (groups: readonly PromptGroup[]): number =>
    groups.reduce((most, { length, count }) => Math.max(most, cost(1, length, count)), 0);
  const limit = Math.max(budget, memory(alone));
  const work = (groups: readonly PromptGroup[]): number =>
    groups.reduce((sum, { length }) => sum + length * (perPosition + perScore * length), 0);
  const byPrompt = Map.groupBy(rows, ({ tokens, promptLength }) =>
    tokens.subarray(0, promptLength).join(),
  );
  return [...byPrompt.values()].flatMap((same) => {
    const single = same.map(ungrouped);
    if (same[0]?.promptLength === 1) return single;
    const plans = halvings(same.length)
      .map((size) => groupsOfSize(same, size))
      .filter((groups) => memory(groups) <= limit);
    const best = plans.reduce((a, b) => (work(b) < work(a) ? b : a), single);
    return work(best) <= mostOfSingle * work(single) ? best : single;
  });
}

const mostOfSingle = 2 / 3;
/**
 * Minimum number of operations per position in a layer for which grouping is worthwhile. With fewer
 * operations, starting operators takes more time than their arithmetic.
 */
const leastOperations = 1e6;

const halvings = (count: number): readonly number[] =>
  count < 2 ? [] : [count, ...halvings(Math.ceil(count / 2))];

const groupsOfSize = (rows: readonly Row[], size: number): readonly PromptGroup[] =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, i) =>
    grouped(rows.slice(i * size, (i + 1) * size)),
  );

/** Number of floating-point operations that take as long as reading and writing one value. */
const operationsPerValue = 60;
/** Number of arrays of attention scores that a layer and its gradient write. */
const scoreArrays = 10;

/**
 * Estimates the number of operations for the gradients of one layer: per position, and per pair of
 * a query and a visible position.
 */
function operationsOf(config: ModelConfig) {
  const { layers, heads, headDim, hiddenSize, vocabSize } = config;
  const weights = (parameterCount(config) - vocabSize * hiddenSize) / layers;
  const values = keptPerLayer(config, 0) + transientPerLayer(config, 0);
  return {
    perPosition: 6 * weights + operationsPerValue * values,
    perScore: heads * (12 * headDim + operationsPerValue * scoreArrays),
  };
}
