/**
 * Addition problems: `37+48=` with the answer `580`, least significant digit first, the order in
 * which carries are computed.
 */
import type { Random } from '@trinity-rft/core';

export interface Problem {
  readonly question: string;
  readonly answer: string;
}

const two = (value: number): string => String(value).padStart(2, '0');

export function addition(a: number, b: number): Problem {
  return {
    question: `${two(a)}+${two(b)}=`,
    answer: [...String(a + b).padStart(3, '0')].toReversed().join(''),
  };
}

/** All 10,000 problems in random order, split into those for training and those for evaluation. */
export function splitProblems(
  random: Random,
  evalCount: number,
): { readonly train: readonly Problem[]; readonly fresh: readonly Problem[] } {
  const all = random.shuffle(
    Array.from({ length: 10_000 }, (_, i) => addition(Math.floor(i / 100), i % 100)),
  );
  return { train: all.slice(evalCount), fresh: all.slice(0, evalCount) };
}

/** Replaces one digit by a random one in a `share` of the answers, like a careless teacher. */
export function withSlips(
  problems: readonly Problem[],
  random: Random,
  share: number,
): readonly Problem[] {
  return problems.map(({ question, answer }) => {
    if (random.next() >= share) return { question, answer };
    const digits = [...answer];
    digits[random.integer(digits.length)] = String(random.integer(10));
    return { question, answer: digits.join('') };
  });
}
