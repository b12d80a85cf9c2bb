/** `math_boxed_reward`: rewards a correct answer that is boxed. */
import { booleanArg } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { hasOneThought } from './shared/layout.js';
import { wholeResponse } from './shared/inputs.js';
import { accuracyCoef, checkerArg, formatScoreCoef } from './shared/arguments.js';

/**
 * Computes the reward with the rule `boxed` or `trinity_boxed` of the math checker, and with {@link
 * hasOneThought}. Source: `math_boxed_reward` of Trinity-RFT 0.5.2.
 */
export const mathBoxedReward = rewardKind('math_boxed_reward', {
  summary: 'Is the answer in the last box the expected one?',
  parts: {
    accuracy: '1 when it is, else 0',
    format_score: '-0.1 when with_think asks for one thought and there is not one, else 0',
  },
  args: {
    with_think: booleanArg(
      false,
      'Must there be exactly one <think> and one </think>, in this order?',
    ),
    checker: checkerArg,
    accuracy_coef: accuracyCoef,
    format_score_coef: formatScoreCoef,
  },
  create: (options, isRight) => {
    const rule = options.checker === 'math' ? 'boxed' : 'trinity_boxed';
    return async (input) => ({
      accuracy: (await isRight(rule, input)) ? options.accuracy_coef : 0,
      format_score:
        options.with_think && !hasOneThought(wholeResponse(input))
          ? 0 - options.format_score_coef
          : 0,
    });
  },
});
