/** Reads the progress that an earlier process has made in a stage. */
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, type Logger } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { ExplorerState } from '@trinity-rft/explorer';
import { checkpointsToResume, verifyCheckpoint, type Checkpoint } from '@trinity-rft/trainer';
import type { StageTasks } from '../../assembly/data/tasks.js';
import { stageResult, type StageResult } from '../../context/stage-context.js';

export interface Progress {
  /** Complete checkpoints, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** State that was stored with the last explore step; undefined if there is no explore step. */
  readonly explorer: ExplorerState | undefined;
}

/**
 * Reads the checkpoints and the explorer's state of a stage. If checkpoints are newer than the
 * store, for example because the end of its write-ahead log was lost, ignores these checkpoints, so
 * that their steps are repeated.
 */
export async function readProgress(
  { jobDirectory, buffer }: StageConfig,
  store: ExperienceStore,
  logger: Logger,
): Promise<Progress> {
  const checkpoints = await checkpointsToResume(jobDirectory);
  const explorer = (await store.explorerState()) as ExplorerState | undefined;
  const trained = await store.lastTrainStep();
  const newest = checkpoints.at(-1)?.manifest.step ?? 0;
  if (!explorer || newest <= trained) return { checkpoints, explorer };
  logger.warn(
    `The experiences in ${buffer.trainerInput.experienceBuffer.path} end at train step ${trained}, and the newest checkpoint is of step ${newest}: the disk has lost what was stored last. The steps after ${trained} are repeated, and the checkpoints of these steps are written again.`,
  );
  const known = checkpoints.filter(({ manifest }) => manifest.step <= trained);
  return { checkpoints: known, explorer };
}

/**
 * Returns the result of a stage that was already completed. Returns undefined if the stage is not
 * completed, or if its configured number of steps has increased since then.
 * @throws CheckpointError when the files of the stage's last checkpoint have changed
 */
export async function earlierResult(
  stage: StageConfig,
  tasks: StageTasks,
  { checkpoints, explorer }: Progress,
): Promise<StageResult | undefined> {
  const last = checkpoints.at(-1);
  if (!last?.manifest.final || !isUsedUp(stage, tasks, last, explorer)) return undefined;
  await verifyCheckpoint(last);
  return { ...stageResult(last.manifest.step, last.directory), doneBefore: true };
}

function isUsedUp(
  { buffer, trainer: { totalSteps } }: StageConfig,
  tasks: StageTasks,
  { manifest }: Checkpoint,
  explorer: ExplorerState | undefined,
): boolean {
  // A buffer in memory is lost when its process ends, so a completed stage cannot become longer.
  if (buffer.trainerInput.experienceBuffer.path === undefined) return true;
  const allTrained = totalSteps !== undefined && manifest.step >= totalSteps;
  return allTrained || (explorer !== undefined && tasks.areUsedUp(explorer));
}

/**
 * Checks that the stage can be resumed.
 * @throws ConfigError if there are trained weights, but the experiences that they were trained on
 * are missing
 */
export function assertResumable(
  { jobDirectory, buffer }: StageConfig,
  { checkpoints, explorer }: Progress,
): void {
  const step = checkpoints.at(-1)?.manifest.step ?? 0;
  if (step === 0 || explorer) return;
  const { path } = buffer.trainerInput.experienceBuffer;
  const reason =
    path === undefined
      ? 'its experience_buffer has storage: memory, which ended with its process'
      : `its experiences are not in ${path}`;
  throw new ConfigError(
    `The run in ${jobDirectory} cannot continue after train step ${step}: ${reason}. Give the new run another name, or delete that folder.`,
    { code: 'RUN_NOT_RESUMABLE' },
  );
}
