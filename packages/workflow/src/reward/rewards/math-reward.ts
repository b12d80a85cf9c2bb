/** `math_reward`: accuracy of the answer, plus a small reward for its layout. */
import { rewardKind } from './shared/reward-kind.js';
import { hasLooseLayout } from './shared/layout.js';
import { wholeResponse } from './shared/inputs.js';
import { accuracyCoef, formatScoreCoef, signed } from './shared/arguments.js';

/**
 * Computes the reward with the rule `answer` of the math checker, and with {@link hasLooseLayout}.
 * With the default arguments, the reward ranges from -0.1 to 1.1. Source: `math_reward` of Trinity-RFT 0.5.2.
 */
export const mathReward = rewardKind('math_reward', {
  summary: 'Accuracy of the answer, and a little for the layout around it.',
  parts: {
    accuracy: '1 when the answer is the expected one, else 0',
    format_score: '0.1 for a thought before an answer, else -0.1',
  },
  args: { accuracy_coef: accuracyCoef, format_score_coef: formatScoreCoef },
  create:
    ({ accuracy_coef: accuracy, format_score_coef: format }, isRight) =>
    async (input) => ({
      accuracy: (await isRight('answer', input)) ? accuracy : 0,
      format_score: signed(hasLooseLayout(wholeResponse(input)), format),
    }),
});
