/**
 * Folders of stages whose process shares the training run's folder with the process that trains.
 */
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { evaluationsFolder, evaluationsName } from '../assembly/data/evaluation-answers.js';
import { explorerFolder } from '../modes/distributed/explorer-folder.js';

/** Options of `trinity serve` that determine where a server writes. */
type Serve = { readonly train?: boolean } | undefined;

/** Name of the folder of a server that does not train. */
const serveName = 'serve';

/**
 * Names of folders inside a training run's folder that evaluations and servers write to. A failure
 * in them is not a failure of the training run.
 */
export const guestFolders: readonly string[] = [evaluationsName, serveName];

/**
 * Returns true if all stages only read a training run or explore for it, and do not write its
 * record.
 */
export const areGuests = (stages: readonly StageConfig[]): boolean =>
  stages.every(({ mode, part }) => mode === 'bench' || part === 'explore');

/**
 * Returns the folder for the log and metrics of an explorer, or of a server that does not train.
 * Returns undefined for other stages, which write to the stage's folder.
 */
export function ownFolder(stage: StageConfig, serve: Serve): string | undefined {
  if (stage.part === 'explore') return explorerFolder(stage);
  return serve?.train === false ? path.join(stage.jobDirectory, serveName) : undefined;
}

/**
 * Returns the folder for failure files. A benchmark has a separate folder, because its failure is
 * not a failure of the training run.
 */
export function failureFolder(stage: StageConfig, serve: Serve): string {
  if (stage.mode === 'bench') return evaluationsFolder(stage.jobDirectory);
  return ownFolder(stage, serve) ?? stage.jobDirectory;
}
