/** `exact_match_reward`: is the response, as text, the expected answer? */
import { booleanArg, numberArg, readArgs, type RewardFn } from '@trinity-rft/core';
import { requireTruth } from './truth.js';

const spec = { accuracy_coef: numberArg(1), case_sensitive: booleanArg(true) };

/**
 * Part `accuracy`: `accuracy_coef` (default 1) when both texts are equal without the white space around them, else 0.
 * `case_sensitive: false` ignores upper and lower case.
 */
export function exactMatchReward(args: Readonly<Record<string, unknown>>): RewardFn {
  const { accuracy_coef: coef, case_sensitive: caseSensitive } = readArgs('reward function "exact_match_reward"', spec, args);
  const normalise = (text: string): string => (caseSensitive ? text.trim() : text.trim().toLowerCase());
  return (input) => ({ accuracy: normalise(input.response) === normalise(requireTruth('exact_match_reward', input)) ? coef : 0 });
}
