import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';

/** Log, lock and scratch files of an explorer: the rest of the run's folder is the trainer's. */
export const explorerFolder = ({
  jobDirectory,
  explorer,
}: Pick<StageConfig, 'jobDirectory' | 'explorer'>): string =>
  path.join(jobDirectory, 'explorers', explorer.name);
