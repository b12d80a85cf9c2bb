/** `length_penalty_reward`: rewards a correct answer, minus a cost for every token. */
import { ConfigError, numberArg } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { requireTokens } from './shared/inputs.js';
import { accuracyCoef } from './shared/arguments.js';

/**
 * Sum of the accuracy, by the rule `answer` of the math checker, and the length penalty
 * -length_coef * min(1, tokens / max_response_length). If `length_coef` is below `accuracy_coef`, a
 * long correct answer still has a higher reward than a short wrong one. Source: the token cost of
 * Arora and Zanette, arXiv:2502.04463, without its normalisation within the group.
 */
export const lengthPenaltyReward = rewardKind('length_penalty_reward', {
  summary: 'Accuracy of the answer, and a cost in proportion to the number of tokens.',
  parts: {
    accuracy: '1 when the answer is the expected one, else 0',
    length_penalty: '0 down to -0.1 at max_response_length',
  },
  args: {
    max_response_length: numberArg(
      undefined,
      { min: 1 },
      'Tokens at which the cost reaches length_coef; required.',
    ),
    length_coef: numberArg(0.1, { min: 0 }, 'The largest cost.'),
    accuracy_coef: accuracyCoef,
  },
  create: (
    { max_response_length: longest, length_coef: coef, accuracy_coef: accuracy },
    isRight,
  ) => {
    if (longest === undefined) {
      throw new ConfigError(
        'length_penalty_reward needs max_response_length, the number of tokens at which the cost is largest. Set it.',
        { code: 'REWARD_LENGTHS_MISSING' },
      );
    }
    return async (input) => ({
      accuracy: (await isRight('answer', input)) ? accuracy : 0,
      length_penalty:
        0 - coef * Math.min(1, requireTokens('length_penalty_reward', input) / longest),
    });
  },
});
