export * from './checkpoint/checkpoint.js';
export * from './step/data-metrics.js';
export * from './step/pack.js';
export type { Requirements } from './step/requirements.js';
export { criticIn, loadTrainer, type TrainedModels } from './checkpoint/models.js';
export * from './schedule.js';
export type { TrainerState } from './step/targets.js';
export * from './step/train-step.js';
export * from './trainer.js';
