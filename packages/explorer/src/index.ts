export type { FailureKind } from './classify-failure.js';
export * from './eval-metrics.js';
export * from './explorer.js';
export * from './finish-runs.js';
export { runPipeline, type PipelineOptions } from './pipeline.js';
export * from './rollout-metrics.js';
export * from './run-task.js';
export * from './state.js';
export * from './tasks.js';
