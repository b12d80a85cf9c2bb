/** The expected answer of a task, for rewards that cannot do without. */
import { RewardError, type RewardInput } from '@trinity-rft/core';

/** @throws RewardError when the task has no expected answer: a missing answer is a fault of the data, not of the response. */
export function requireTruth(owner: string, { truth }: RewardInput): string {
  if (truth !== undefined) return truth;
  throw new RewardError(
    `The task has no expected answer, which ${owner} compares with. Name its column in format.response_key of the task set.`,
    { code: 'REWARD_TRUTH_MISSING', details: { owner } },
  );
}
