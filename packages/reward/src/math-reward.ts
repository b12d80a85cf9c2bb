/** `math_reward`: accuracy of the answer, and a little for the layout around it. */
import { numberArg, readArgs, type RewardFn } from '@trinity-rft/core';
import { hasLooseLayout } from './layout.js';
import { checkMathAnswer } from './math/check.js';
import { requireTruth } from './truth.js';

const spec = { accuracy_coef: numberArg(1), format_score_coef: numberArg(0.1, { min: 0 }) };

/**
 * Parts `accuracy`: `accuracy_coef` (default 1) or 0, by {@link checkMathAnswer}; `format_score`: plus or minus
 * `format_score_coef` (default 0.1), by {@link hasLooseLayout}. From -0.1 to 1.1 by default.
 */
export function mathReward(args: Readonly<Record<string, unknown>>): RewardFn {
  const { accuracy_coef: accuracy, format_score_coef: format } = readArgs('reward function "math_reward"', spec, args);
  return (input) => ({
    accuracy: checkMathAnswer(input.response, requireTruth('math_reward', input)) ? accuracy : 0,
    format_score: hasLooseLayout(input.response) ? format : 0 - format,
  });
}
