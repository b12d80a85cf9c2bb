/** Where runs wait for their rewards. */
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';

const fileName = 'late_rewards.db';

/** Beside the experience store of a stage. */
export function lateRewardsFile({ buffer, jobDirectory }: StageConfig): string {
  const { experienceBuffer } = buffer.trainerInput;
  const store = experienceBuffer.storageType === 'file' ? undefined : experienceBuffer.path;
  return path.join(
    store === undefined ? path.join(jobDirectory, 'buffer') : path.dirname(store),
    fileName,
  );
}

/** @param database the experience store */
export const lateRewardsBeside = (database: string): string =>
  path.join(path.dirname(database), fileName);
