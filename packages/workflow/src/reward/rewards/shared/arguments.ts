/** Arguments that several reward functions take. */
import { choiceArg, numberArg } from '@trinity-rft/core';

export const accuracyCoef = numberArg(1, undefined, 'Value of part accuracy for a right answer.');

export const formatScoreCoef = numberArg(0.1, { min: 0 }, 'Size of part format_score.');

/** Specification of the argument that selects how answers are compared. */
export const checkerArg = choiceArg(
  ['math', 'trinity'],
  'math',
  'What compares the answers: math, the checker of this package; trinity, the text comparison of Trinity-RFT.',
);

/** Specifications of the arguments from which `readOverlong` reads the options of the penalty. */
export const overlongArgs = {
  max_response_length: numberArg(
    undefined,
    { min: 1 },
    'L: responses of more tokens get the whole penalty.',
  ),
  cache_length: numberArg(
    undefined,
    { min: 0 },
    'c: the penalty grows linearly over this many tokens before L.',
  ),
  penalty_factor: numberArg(1, { min: 0 }, 'f: size of the whole penalty.'),
};

/** Returns `coef` if `isPositive`, otherwise -`coef`. Returns 0 instead of -0. */
export const signed = (isPositive: boolean, coef: number): number => (isPositive ? coef : 0 - coef);
