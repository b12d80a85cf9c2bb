/** Arguments that several reward functions take, said the same way. */
import { choiceArg, numberArg } from '@trinity-rft/core';

export const accuracyCoef = numberArg(1, undefined, 'Value of part accuracy for a right answer.');

export const formatScoreCoef = numberArg(0.1, { min: 0 }, 'Size of part format_score.');

/** Which checker decides. */
export const checkerArg = choiceArg(
  ['math', 'trinity'],
  'math',
  "Who compares the answers: math, the checker of this package; trinity, the original's comparison of texts, with its figures.",
);

/** Any finite weight, as ±`coef` without a negative zero. */
export const signed = (isPositive: boolean, coef: number): number => (isPositive ? coef : 0 - coef);
