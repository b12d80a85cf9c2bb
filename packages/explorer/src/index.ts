export type { DynamicSampling } from './explorer-options.js';
export { createExplorer, type Explorer } from './explorer.js';
export type {
  EvalSet,
  EvaluatedSet,
  ExplorerOptions,
  ExplorerSettings,
  ExplorerState,
  ExploreProgress,
  ExploreSync,
  OnEvaluated,
  TaskFeed,
} from './explorer-options.js';
export { evalMetrics } from './metrics/eval-metrics.js';
export { expectedBest, expectedWorst } from './metrics/pass-at-n.js';
export { rolloutMetrics } from './metrics/rollout-metrics.js';
export type { FailureKind } from './runs/classify-failure.js';
export type { FinishedRun } from './runs/finish-runs.js';
export {
  countedValue,
  reportedKeys,
  type FailedRun,
  type RunOutcome,
  type SuccessfulRun,
  type TaskOutcome,
} from './runs/outcome.js';
export {
  createInstancePool,
  type AttemptKey,
  type AttemptModel,
  type InstancePool,
  type RunSettings,
} from './runs/run-attempt.js';
export { runTask, type RunTaskOptions } from './runs/run-task.js';
export { toTask, type TaskPlace, type TasksetSettings } from './to-task.js';
export {
  meanInterval,
  pairedDifference,
  type Interval,
  type PairedDifference,
} from './metrics/interval.js';
