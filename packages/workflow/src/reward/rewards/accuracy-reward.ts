/** `accuracy_reward`: 1 if the answer is mathematically equal to the reference answer. */
import { rewardKind } from './shared/reward-kind.js';
import { accuracyCoef } from './shared/arguments.js';

/**
 * Computes the reward with the rule `answer` of the math checker. `accuracy_reward` of Trinity-RFT
 * 0.5.2 passes the reference answer and the response to its checker in the wrong order; this
 * function does not.
 */
export const accuracyReward = rewardKind('accuracy_reward', {
  summary: 'Is the answer, wherever it is, mathematically the expected one?',
  parts: { accuracy: '1 when it is, else 0' },
  args: { accuracy_coef: accuracyCoef },
  create:
    ({ accuracy_coef: coef }, isRight) =>
    async (input) => ({ accuracy: (await isRight('answer', input)) ? coef : 0 }),
});
