import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';

/**
 * Returns the folder for an explorer's log, lock and scratch files, separate from the trainer's
 * files.
 */
export const explorerFolder = ({
  jobDirectory,
  explorer,
}: Pick<StageConfig, 'jobDirectory' | 'explorer'>): string =>
  path.join(jobDirectory, 'explorers', explorer.name);
