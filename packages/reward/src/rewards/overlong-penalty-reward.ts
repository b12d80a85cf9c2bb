/** `overlong_penalty_reward`: nothing but a penalty for long responses. */
import { numberArg } from '@trinity-rft/core';
import { rewardKind } from './shared/define.js';
import { overlongPenalty, readOverlong, requireTokens } from './shared/overlong.js';

/** The arguments of {@link overlongPenalty}, as configurations write them. */
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

/** By {@link overlongPenalty}. Source: DAPO, arXiv:2503.14476, equation 13. */
export const overlongPenaltyReward = rewardKind('overlong_penalty_reward', {
  summary: 'A penalty that grows over the last tokens before the longest allowed response.',
  parts: { overlong_penalty: '0 up to L - c tokens, then down to -1 at L' },
  args: overlongArgs,
  create: (args) => {
    const options = readOverlong('overlong_penalty_reward', args);
    return (input) => ({
      overlong_penalty: overlongPenalty(requireTokens('overlong_penalty_reward', input), options),
    });
  },
});
