import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';

/**
 * Folder for the log, lock and scratch files of an explorer: the rest of the run's folder belongs
 * to the trainer.
 */
export const explorerFolder = ({
  jobDirectory,
  explorer,
}: Pick<StageConfig, 'jobDirectory' | 'explorer'>): string =>
  path.join(jobDirectory, 'explorers', explorer.name);
