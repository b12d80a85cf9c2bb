/** Orders tasks by a weighted sum of scores. */
import type { RawTask } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';

/**
 * Weight of each score, keyed by column. The keys `quality` and `difficulty` stand for the columns
 * in {@link scoreColumns}.
 */
export type PriorityWeights = Readonly<Record<string, number>>;

/** Column that contains the score, keyed by the short name used in weights. */
export const scoreColumns: Readonly<Record<string, string>> = {
  quality: 'llm_quality_score',
  difficulty: 'llm_difficulty_score',
};

const usual: PriorityWeights = { quality: 1, difficulty: -0.7 };

interface Ordered<T> {
  readonly ordered: readonly T[];
  /** Number of tasks that lack one of the scores. These tasks come last. */
  readonly unordered: number;
}

/**
 * Orders tasks by priority, highest first. The priority is the weighted sum of the scores, each
 * scaled to 0..1 over all tasks. If no weights are given, default weights are used for the scores
 * that exist. If an operator has already ordered the tasks, that order is kept instead.
 */
export function byPriority<T extends { readonly rawTask: RawTask }>(
  tasks: readonly T[],
  weights: PriorityWeights = {},
  isOrdered = false,
): Ordered<T> {
  const given = Object.keys(weights).length > 0;
  const named = given ? weights : isOrdered ? {} : usual;
  const columns = Object.entries(named)
    .map(([name, weight]) => ({ name: scoreColumns[name] ?? name, weight }))
    .filter(({ name }) => given || tasks.some(({ rawTask }) => name in rawTask));
  if (columns.length === 0) return { ordered: tasks, unordered: 0 };
  const scaled = columns.map(({ name, weight }) => {
    const scale = scaleOf(tasks.map(({ rawTask }) => fieldOf(rawTask, name)));
    return (rawTask: RawTask): number => weight * scale(fieldOf(rawTask, name));
  });
  const priorities = tasks.map(({ rawTask }) =>
    scaled.reduce((sum, priority) => sum + priority(rawTask), 0),
  );
  const order = tasks
    .map((_, i) => i)
    .toSorted((a, b) => rank(priorities[b]) - rank(priorities[a]) || a - b);
  return {
    ordered: order.map((i) => tasks[i] as T),
    unordered: priorities.filter(Number.isNaN).length,
  };
}

/**
 * Returns the number to sort by. It is the lowest number for tasks without a priority, so that they
 * come last.
 */
const rank = (priority: number | undefined): number =>
  priority === undefined || Number.isNaN(priority) ? -Number.MAX_VALUE : priority;

/**
 * Returns a function that scales x to (x - smallest) / (largest - smallest). The result is 0 if all
 * values are equal, and NaN if x is not a number.
 */
function scaleOf(values: readonly unknown[]): (value: unknown) => number {
  const numbers = values.filter((value) => Number.isFinite(value)) as number[];
  const least = numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const range = numbers.reduce((a, b) => Math.max(a, b), -Infinity) - least;
  return (value) =>
    !Number.isFinite(value) ? Number.NaN : range === 0 ? 0 : ((value as number) - least) / range;
}
