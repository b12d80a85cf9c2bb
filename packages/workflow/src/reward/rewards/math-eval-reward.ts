/** `math_eval_reward`: accuracy as in benchmark evaluations. */
import { rewardKind } from './shared/reward-kind.js';
import { accuracyCoef, checkerArg } from './shared/arguments.js';

/**
 * Computes the reward with the rule `answer` of the math checker. With `checker: trinity`, uses the
 * rule `trinity_eval` (after Qwen2.5-Math) instead.
 */
export const mathEvalReward = rewardKind('math_eval_reward', {
  summary:
    "Accuracy of the answer; with checker: trinity by the rules of Qwen2.5-Math's evaluation, as Trinity-RFT applies them.",
  parts: { accuracy: '1 when the answer is the expected one, else 0' },
  args: { checker: checkerArg, accuracy_coef: accuracyCoef },
  create: ({ checker, accuracy_coef: coef }, isRight) => {
    const rule = checker === 'math' ? 'answer' : 'trinity_eval';
    return async (input) => ({ accuracy: (await isRight(rule, input)) ? coef : 0 });
  },
});
