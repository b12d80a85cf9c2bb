export * from './checkpoint.js';
export * from './data-metrics.js';
export * from './pack.js';
export * from './schedule.js';
export * from './train-step.js';
export * from './trainer.js';
