/** `math_dapo_reward`: accuracy, and a penalty for overlong responses. */
import { booleanArg, numberArg } from '@trinity-rft/core';
import { rewardKind } from './shared/reward-kind.js';
import { overlongPenalty, readOverlong } from './shared/overlong.js';
import { requireTokens } from './shared/inputs.js';
import { accuracyCoef, checkerArg, overlongArgs } from './shared/arguments.js';

/**
 * Sum of the accuracy, by the rule `answer` or `trinity_dapo` of the math checker, and {@link
 * overlongPenalty}. By default, the accuracy of a wrong answer is 0, as in Trinity-RFT 0.5.2; in
 * the paper and in later versions, it is -1. Source: DAPO, arXiv:2503.14476, section 3.4;
 * `math_dapo_reward` of Trinity-RFT 0.5.2.
 */
export const mathDapoReward = rewardKind('math_dapo_reward', {
  summary: "DAPO's reward: accuracy of the answer, and a penalty for overlong responses.",
  parts: {
    accuracy: '1 when the answer is the expected one, else 0',
    format_score: 'the overlong penalty, 0 down to -1; 0 when it is off',
  },
  args: {
    enable_overlong_penalty: booleanArg(
      false,
      'Is there a penalty? It then needs max_response_length and cache_length.',
    ),
    ...overlongArgs,
    accuracy_coef: accuracyCoef,
    wrong_coef: numberArg(
      0,
      undefined,
      'Value of part accuracy for a wrong answer; -1 in the paper.',
    ),
    checker: checkerArg,
  },
  create: (args, isRight) => {
    const overlong = args.enable_overlong_penalty
      ? readOverlong('math_dapo_reward', args)
      : undefined;
    const rule = args.checker === 'math' ? 'answer' : 'trinity_dapo';
    return async (input) => ({
      accuracy: (await isRight(rule, input)) ? args.accuracy_coef : args.wrong_coef,
      format_score: overlong
        ? overlongPenalty(requireTokens('math_dapo_reward', input), overlong)
        : 0,
    });
  },
});
