/** The expected answer of a task, for rewards that cannot do without. */
import { RewardError, type RewardInput } from '@trinity-rft/core';

/**
 * @throws RewardError when the task has no expected answer: a missing answer is a fault of the
 * data, not of the response.
 */
export function requireTruth(owner: string, { truth, rawTask }: RewardInput): string {
  if (truth !== undefined) return truth;
  const columns = Object.keys(rawTask).join(', ') || 'none';
  throw new RewardError(
    `The task has no expected answer, which ${owner} compares with; the columns of its row are ${columns}. Name the right one in format.response_key of the task set.`,
    { code: 'REWARD_TRUTH_MISSING', details: { owner } },
  );
}
