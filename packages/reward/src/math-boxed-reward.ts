/** `math_boxed_reward`: the answer must stand in a box. */
import { booleanArg, numberArg, readArgs, type RewardFn } from '@trinity-rft/core';
import { hasOneThought } from './layout.js';
import { checkBoxedAnswer } from './math/check.js';
import { requireTruth } from './truth.js';

const spec = { accuracy_coef: numberArg(1), format_score_coef: numberArg(0.1, { min: 0 }), with_think: booleanArg(false) };

/**
 * Parts `accuracy`: `accuracy_coef` (default 1) or 0, by {@link checkBoxedAnswer}; `format_score`: minus `format_score_coef`
 * (default 0.1) when `with_think` asks for one thought and there is not one, else 0.
 */
export function mathBoxedReward(args: Readonly<Record<string, unknown>>): RewardFn {
  const options = readArgs('reward function "math_boxed_reward"', spec, args);
  return (input) => ({
    accuracy: checkBoxedAnswer(input.response, requireTruth('math_boxed_reward', input)) ? options.accuracy_coef : 0,
    format_score: options.with_think && !hasOneThought(input.response) ? 0 - options.format_score_coef : 0,
  });
}
