/** `accuracy_reward`: is the answer mathematically the expected one? */
import { numberArg, readArgs, type RewardFn } from '@trinity-rft/core';
import { checkMathAnswer } from './math/check.js';
import { requireTruth } from './truth.js';

const spec = { accuracy_coef: numberArg(1) };

/** Part `accuracy`: `accuracy_coef` (default 1) when {@link checkMathAnswer} says yes, else 0. */
export function accuracyReward(args: Readonly<Record<string, unknown>>): RewardFn {
  const { accuracy_coef: coef } = readArgs('reward function "accuracy_reward"', spec, args);
  return (input) => ({ accuracy: checkMathAnswer(input.response, requireTruth('accuracy_reward', input)) ? coef : 0 });
}
