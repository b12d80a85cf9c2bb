/** What the log says of math answers that cannot be compared. */
import type { Logger } from '@trinity-rft/core';
import type { GiveUpReason, GivenUp, MathChecker } from '@trinity-rft/reward';

const reasons: Readonly<Record<GiveUpReason, (givenUp: GivenUp) => string>> = {
  deadline: ({ deadlineMs }) => `took more than ${deadlineMs} ms to compare`,
  failed: () => 'broke the comparison',
};

/**
 * Warns of every answer that counts as wrong because it could not be compared; returns how to stop
 * that.
 */
export function warnOfGivenUp(checker: MathChecker, logger: Logger): () => void {
  return checker.onGivenUp((givenUp) => {
    const { reason, responseLength } = givenUp;
    logger.warn(
      `A math answer ${reasons[reason](givenUp)} and counts as wrong (its text has ${responseLength} characters). The run goes on.`,
      { code: 'MATH_ANSWER_GIVEN_UP', reason },
    );
  });
}
