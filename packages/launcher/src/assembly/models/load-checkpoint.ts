/** Loads a trainer's checkpoint, and says so when it cannot be checked completely. */
import {
  loadTrainer,
  type Checkpoint,
  type TrainedModels,
  type TrainerState,
} from '@trinity-rft/trainer';
import type { StageContext } from '../../context/stage-context.js';

/** @throws CheckpointError when a file differs from its digest or is missing */
export function loadCheckpoint(
  { runtime }: Pick<StageContext, 'runtime'>,
  checkpoint: Checkpoint,
  models: TrainedModels,
): Promise<TrainerState> {
  if (checkpoint.manifest.sha256 === undefined)
    runtime.logger.warn(
      `${checkpoint.directory} was written by an earlier version: its files are checked, but changes of its manifest.json would not be noticed.`,
    );
  return loadTrainer(checkpoint, models);
}
