/** Loads a trainer's checkpoint, and warns if the checkpoint cannot be verified completely. */
import type { Logger } from '@trinity-rft/core';
import {
  loadTrainer,
  type Checkpoint,
  type TrainedModels,
  type TrainerState,
} from '@trinity-rft/trainer';

/**
 * Loads a trainer's checkpoint, and logs a warning if its manifest cannot be verified.
 * @throws CheckpointError when a file differs from its digest or is missing
 */
export function loadCheckpoint(
  checkpoint: Checkpoint,
  models: TrainedModels,
  logger: Logger,
): Promise<TrainerState> {
  if (checkpoint.manifest.sha256 === undefined)
    logger.warn(
      `${checkpoint.directory} was written by an earlier version: its files are checked, but changes of its manifest.json would not be noticed.`,
    );
  return loadTrainer(checkpoint, models);
}
