export * from './checkpoint.js';
export * from './data-metrics.js';
export * from './pack.js';
export type { Requirements } from './requirements.js';
export { criticIn, loadTrainer, type TrainedModels } from './resume.js';
export * from './schedule.js';
export type { TrainerState } from './targets.js';
export * from './train-step.js';
export * from './trainer.js';
