/** Scores an expression as Reasoning Gym does. */
import { pythonValue } from '@trinity-rft/workflow/reward';

export interface Puzzle {
  readonly numbers: readonly number[];
  readonly target: number;
}

/**
 * Returns the score of an answer as in Reasoning Gym 0.1.25, `countdown`: 1 for an expression that
 * uses each number once and reaches the target, 0.05 for any other expression, and 0.01 for text
 * that is not an expression.
 */
export function scoreCountdown(answer: string, { numbers, target }: Puzzle): number {
  const value = pythonValue(answer);
  if (value === undefined) return 0.01;
  const used = (answer.match(/\b\d+\b/g) ?? []).map(Number);
  const isClose = Math.abs(value - target) <= 1e-6 + 1e-5 * Math.abs(target);
  return isClose && sorted(used) === sorted(numbers) ? 1 : 0.05;
}

const sorted = (numbers: readonly number[]): string => numbers.toSorted((a, b) => a - b).join();
