/** Logs warnings about math answers that could not be compared. */
import type { Logger } from '@trinity-rft/core';
import type { GiveUpReason, GivenUp, MathChecker } from '@trinity-rft/workflow/reward';

const reasons: Readonly<Record<GiveUpReason, (givenUp: GivenUp) => string>> = {
  deadline: ({ deadlineMs }) => `took more than ${deadlineMs} ms to compare`,
  failed: () => 'broke the comparison',
};

/**
 * Logs a warning for each answer that is considered wrong because it could not be compared. Returns
 * a function that stops these warnings.
 */
export function warnOfUncheckedMath(checker: MathChecker, logger: Logger): () => void {
  return checker.onGivenUp((givenUp) => {
    const { reason, responseLength } = givenUp;
    logger.warn(
      `A math answer ${reasons[reason](givenUp)} and counts as wrong (its text has ${responseLength} characters). The run continues.`,
      { code: 'MATH_ANSWER_GIVEN_UP', reason },
    );
  });
}
