export {
  checkpointsToResume,
  listCheckpoints,
  pruneCheckpoints,
  verifyCheckpoint,
  writeCheckpoint,
  type Checkpoint,
  type WriteCheckpointOptions,
} from './checkpoint/checkpoint.js';
export type { CheckpointFile, CheckpointManifest } from '@trinity-rft/core/engine';
export { loadTrainer, type TrainedModels } from './checkpoint/models.js';
export { learningRateAt, type OptimizerSettings, type ScheduleSettings } from './schedule.js';
export { packBatch, type PackedBatch, type PackedCall } from './step/pack.js';
export type { Requirements } from './step/requirements.js';
export type { TrainerState } from './step/targets.js';
export {
  trainStep,
  type CriticStep,
  type TrainStepOptions,
  type TrainStepResult,
} from './step/train-step.js';
export {
  createTrainer,
  type CriticSettings,
  type Trainer,
  type TrainerOptions,
  type TrainerResult,
  type TrainerSettings,
  type TrainSync,
} from './trainer.js';
