/** `exact_match_reward`: 1 if the response equals the reference answer as text. */
import { booleanArg } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { requireTruth } from './shared/inputs.js';
import { accuracyCoef } from './shared/arguments.js';

/** Compares the response with the reference answer as text, without surrounding white space. */
export const exactMatchReward = rewardKind('exact_match_reward', {
  summary: 'Is the whole response, as text, the expected answer?',
  parts: { accuracy: '1 when it is, else 0' },
  args: {
    case_sensitive: booleanArg(true, 'Does upper and lower case count?'),
    accuracy_coef: accuracyCoef,
  },
  create: ({ accuracy_coef: coef, case_sensitive: caseSensitive }) => {
    const normalise = (text: string): string =>
      caseSensitive ? text.trim() : text.trim().toLowerCase();
    return (input) => ({
      accuracy:
        normalise(input.response) === normalise(requireTruth('exact_match_reward', input))
          ? coef
          : 0,
    });
  },
});
