/**
 * Lists rollouts that wait for a reward and stores their rewards, from outside the process of the
 * training run.
 */
import { lateRewardsBeside, refusals } from '@trinity-rft/buffer/late-rewards';
import { BufferError, usableReward } from '@trinity-rft/core';
import type { PendingRun, RewardReceipt } from '@trinity-rft/core/store';
import type { TargetOptions } from '../verify/targets.js';
import { findRecords } from './find-records.js';

/**
 * Returns the rollouts, across all stages, that are waiting for a reward.
 * @param run a configuration, the folder of a run, or a database
 */
export async function runsThatWait(
  run: string,
  options?: TargetOptions,
): Promise<readonly Pick<PendingRun, 'run' | 'deadline'>[]> {
  const places = await findRecords(run, options);
  return places.flatMap(({ database }) => lateRewardsBeside(database).waiting());
}

/**
 * Stores the reward of a rollout, in the newest stage that has the rollout. Storing the same reward
 * again changes nothing.
 * @throws BufferError `REWARD_REFUSED` with the reason
 */
export async function giveReward(
  run: string,
  { id, reward }: { readonly id: string; readonly reward: number },
  options?: TargetOptions,
): Promise<void> {
  const places = await findRecords(run, options);
  let reason: RewardReceipt = 'unknown';
  for (const { database } of places.toReversed()) {
    const receipt = lateRewardsBeside(database).score(id, reward);
    if (receipt === 'stored') return;
    if (reason === 'unknown') reason = receipt;
  }
  throw new BufferError(
    `The reward of run "${id}" was refused: ${refusals[reason]}. Ids are explore step/task/run, as rollouts.jsonl and "trinity view" show them; a reward is ${usableReward}.`,
    { code: 'REWARD_REFUSED', details: { reason } },
  );
}
