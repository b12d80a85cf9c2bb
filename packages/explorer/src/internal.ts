/** Exports for packages of this repository only. This interface is not stable. */
export { expectedBestOfDraws } from './metrics/pass-at-n.js';
export { runPipeline } from './pipeline.js';
export { isOwnFailure } from './runs/classify-failure.js';
export { currentRun } from './runs/current-run.js';
export type { OnPause } from './runs/back-offs.js';
export { createEnvironmentCircuits } from './runs/environment-circuits.js';
export { createPauseMeter } from './runs/pause-meter.js';
export { taskStarter } from './runs/start-task.js';
export { isPending } from './late-groups.js';
export { rewardDeadline } from './runs/reward-deadline.js';
export { enoughTasks, usableOutcome, type OverRollout } from './runs/wait-for-enough.js';
export type { TimeLimit } from './runs/run-attempt.js';
export { createTimeLimits, type TimeLimits } from './runs/time-limits.js';
export type { TaskRunnerOptions } from './explorer-options.js';
export { exploreTasks, type ExplorerWeights, type ExploreTasksOptions } from './explore-tasks.js';
export { fromTaskResult, toTaskResult } from './runs/outcome-json.js';
