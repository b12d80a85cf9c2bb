/** The file in which runs wait for their rewards. */
import path from 'node:path';
import { scoreRun } from '@trinity-rft/buffer/late-rewards';
import type { StageConfig } from '@trinity-rft/config';
import { ModelError, TrinityError, isUsableReward } from '@trinity-rft/core';
import type { RunStore } from '@trinity-rft/core/store';
import type { ScoreRun } from '@trinity-rft/model';

const fileName = 'late_rewards.db';

/** Path of the late rewards, beside the experience store of a stage. */
export function lateRewardsFile({ buffer, jobDirectory }: StageConfig): string {
  const { experienceBuffer } = buffer.trainerInput;
  const store = experienceBuffer.storageType === 'file' ? undefined : experienceBuffer.path;
  return path.join(
    store === undefined ? path.join(jobDirectory, 'buffer') : path.dirname(store),
    fileName,
  );
}

/**
 * Path of the late rewards.
 * @param database path of the experience store
 */
export const lateRewardsBeside = (database: string): string =>
  path.join(path.dirname(database), fileName);

/** Stores rewards that arrive over HTTP in the file of late rewards. */
export function lateRewardScorer(stage: StageConfig): ScoreRun {
  const file = lateRewardsFile(stage);
  return (run, reward) => {
    try {
      scoreRun(file, run, reward);
    } catch (cause) {
      const reason = cause instanceof TrinityError ? cause.details['reason'] : undefined;
      throw refusal(run, String(reason), cause);
    }
  };
}

/** Stores rewards in the store that explorers and trainer share. */
export const scorerOf =
  (store: Pick<RunStore, 'reward'>): ScoreRun =>
  async (run, reward) => {
    if (!isUsableReward(reward)) throw refusal(run, 'unusable');
    const receipt = await store.reward(run, reward).catch((cause: unknown) => {
      throw refusal(run, 'unstored', cause);
    });
    if (receipt !== 'stored') throw refusal(run, receipt);
  };

/** Error for a client, which must not learn anything about the files of the run. */
function refusal(run: string, reason: string, cause?: unknown): ModelError {
  const [status, why] = answers[reason] ?? unstored;
  const code = status === unstored[0] ? 'reward_not_stored' : `reward_${reason}`;
  return new ModelError(`The reward of run "${run}" was not stored: ${why}.`, {
    status,
    code,
    cause,
  });
}

const unstored: readonly [number, string] = [
  503,
  'the database of the run did not take it. Send it again',
];

const answers: Readonly<Record<string, readonly [number, string]>> = {
  unknown: [
    404,
    'no run with this id waits for a reward. Expected one whose workflow returned { pending: true }, in an explore step that is stored; send it again when the step is over',
  ],
  scored: [409, 'it has another reward already. A reward is final; the same one again is accepted'],
  late: [
    410,
    'it has another reward, or its deadline has passed. Raise deadlineMs, or explorer.max_reward_delay',
  ],
  unusable: [422, 'a reward is a number from -1e9 to 1e9'],
};
