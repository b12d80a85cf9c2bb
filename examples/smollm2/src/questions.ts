/** Sums of two numbers of two digits, split into those for training and those for evaluation. */
import type { Random } from '@trinity-rft/core';

export interface Question {
  readonly question: string;
  readonly answer: string;
}

const first = 10;
const count = 90;

const sum = (a: number, b: number): Question => ({
  question: `What is ${a}+${b}? Answer with the number only.`,
  answer: String(a + b),
});

/** All 8,100 questions in random order. */
export function splitQuestions(
  random: Random,
  freshCount: number,
): { readonly train: readonly Question[]; readonly fresh: readonly Question[] } {
  const all = random.shuffle(
    Array.from({ length: count * count }, (_, i) =>
      sum(first + Math.floor(i / count), first + (i % count)),
    ),
  );
  return { train: all.slice(freshCount), fresh: all.slice(0, freshCount) };
}
