/** Rewards that arrive after their runs, from outside the process of the run. */
import { scoreRun, waitingRuns } from '@trinity-rft/buffer/late-rewards';
import { lateRewardsBeside } from '@trinity-rft/launcher/files';
import type { TargetOptions } from '../verify/targets.js';
import { findRecords } from './find-records.js';

interface WaitingRun {
  /** Name of the run as `explore step/task/run`. */
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/**
 * Runs of all stages that wait for a reward.
 * @param run a configuration, the folder of a run, or a database
 */
export async function runsThatWait(
  run: string,
  options?: TargetOptions,
): Promise<readonly WaitingRun[]> {
  const places = await findRecords(run, options);
  return places.flatMap(({ database }) => waitingRuns(lateRewardsBeside(database)));
}

/**
 * Gives a run its reward, in the newest stage that has the run; giving the same reward again
 * changes nothing.
 * @throws BufferError `REWARD_REFUSED` with the reason
 */
export async function giveReward(
  run: string,
  { id, reward }: { readonly id: string; readonly reward: number },
  options?: TargetOptions,
): Promise<void> {
  const places = await findRecords(run, options);
  let firstError: unknown;
  for (const { database } of places.toReversed()) {
    try {
      scoreRun(lateRewardsBeside(database), id, reward);
      return;
    } catch (error) {
      firstError ??= error;
    }
  }
  throw firstError;
}
