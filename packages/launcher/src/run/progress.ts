/** Reads and writes `stage_meta.json`, which records the completed stages of a training run. */
import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { lastTrained } from '@trinity-rft/config/internal';
import { CheckpointError } from '@trinity-rft/core';
import { replaceFile } from '@trinity-rft/core/support';

const fileName = 'stage_meta.json';

export interface StageProgress {
  /** Index of the current stage, or the number of stages if all are done. */
  readonly latestStage: number;
}

export async function readStageProgress(jobDirectory: string): Promise<StageProgress> {
  const file = path.join(jobDirectory, fileName);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return { latestStage: 0 };
  try {
    const { latest_stage: latestStage } = JSON.parse(text) as { latest_stage?: unknown };
    if (typeof latestStage === 'number' && Number.isInteger(latestStage) && latestStage >= 0)
      return { latestStage };
  } catch (cause) {
    throw damaged(file, cause);
  }
  throw damaged(file);
}

/**
 * Returns the index of the stage that a training run continues with: the current one, or the last
 * that trains, whose number of steps may have increased, if only benchmarks follow it.
 */
export const firstOpenStage = (stages: readonly StageConfig[], latestStage: number): number =>
  Math.min(latestStage, lastTrained(stages)?.stageIndex ?? stages.length - 1);

export const hasBegun = (jobDirectory: string): Promise<boolean> =>
  stat(path.join(jobDirectory, fileName)).then(
    () => true,
    () => false,
  );

/**
 * Returns true if a training run was started in `jobDirectory` and has not completed `stages`
 * stages.
 */
export async function isUnfinished(jobDirectory: string, stages: number): Promise<boolean> {
  return (
    (await hasBegun(jobDirectory)) && (await readStageProgress(jobDirectory)).latestStage < stages
  );
}

export async function writeStageProgress(
  jobDirectory: string,
  { latestStage }: StageProgress,
): Promise<void> {
  await mkdir(jobDirectory, { recursive: true });
  await replaceFile(
    path.join(jobDirectory, fileName),
    `${JSON.stringify({ latest_stage: latestStage })}\n`,
  );
}

function damaged(file: string, cause?: unknown): CheckpointError {
  return new CheckpointError(
    `${file} is damaged; expected {"latest_stage": n}. Write the number of the stage to continue with into it, counted from 0.`,
    { code: 'STAGE_META', cause },
  );
}
