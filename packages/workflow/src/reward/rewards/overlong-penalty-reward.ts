/** `overlong_penalty_reward`: a penalty for long responses, and no other reward. */
import { overlongArgs } from './shared/arguments.js';
import { rewardKind } from './shared/reward-kind.js';
import { requireTokens } from './shared/inputs.js';
import { overlongPenalty, readOverlong } from './shared/overlong.js';

/** Returns {@link overlongPenalty} as the reward. Source: DAPO, arXiv:2503.14476, equation 13. */
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
