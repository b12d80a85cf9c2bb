/** Generates puzzles that have a solution, and solves them. */
import { createRandom } from '@trinity-rft/core';
import type { Puzzle } from './score.js';

interface Term {
  readonly value: number;
  readonly text: string;
}

export interface PuzzleOptions {
  readonly count: number;
  readonly maxValue: number;
  readonly maxTarget: number;
}

/**
 * Draws numbers and combines them with random operators, until the result is an integer from 1 to
 * `maxTarget`.
 */
export function drawPuzzle({ count, maxValue, maxTarget }: PuzzleOptions, seed: number): Puzzle {
  const random = createRandom(seed);
  for (;;) {
    const numbers = Array.from({ length: count }, () => 1 + random.integer(maxValue));
    let terms: readonly Term[] = numbers.map(term);
    while (terms.length > 1) {
      const [first, second, ...rest] = random.shuffle(terms);
      if (first === undefined || second === undefined) break;
      const joined = joinedTerms(first, second);
      terms = [joined[random.integer(joined.length)] ?? first, ...rest];
    }
    const target = terms[0]?.value ?? 0;
    if (Number.isInteger(target) && target >= 1 && target <= maxTarget) return { numbers, target };
  }
}

/** Returns an expression that reaches the target, if there is one. */
export function solve({ numbers, target }: Puzzle): string | undefined {
  return search(numbers.map(term), target);
}

function search(terms: readonly Term[], target: number): string | undefined {
  const [only, ...others] = terms;
  if (only === undefined || others.length === 0)
    return only !== undefined && Math.abs(only.value - target) < 1e-9 ? only.text : undefined;
  for (const [i, first] of terms.entries())
    for (const [j, second] of terms.entries()) {
      if (j <= i) continue;
      const rest = terms.filter((_, index) => index !== i && index !== j);
      for (const joined of [...joinedTerms(first, second), ...joinedTerms(second, first)]) {
        const found = search([...rest, joined], target);
        if (found !== undefined) return found;
      }
    }
  return undefined;
}

const term = (value: number): Term => ({ value, text: String(value) });

function joinedTerms(a: Term, b: Term): readonly Term[] {
  const join = (sign: string, value: number) => ({ value, text: `(${a.text} ${sign} ${b.text})` });
  const all = [
    join('+', a.value + b.value),
    join('-', a.value - b.value),
    join('*', a.value * b.value),
  ];
  return b.value === 0 ? all : [...all, join('/', a.value / b.value)];
}
