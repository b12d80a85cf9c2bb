/** Computes the number of steps of a stage, and the number of experiences per step. */
import type { StageConfig, TrainBatchConfig } from '../resolve/base/resolved.js';
import { stalenessBoundOf } from '../resolve/synchronizer.js';
import { trainStepsOf, trainStepsPerExploreStep } from '../resolve/buffer/train-batch-size.js';

/** Steps of a stage. Values that the configuration alone does not determine are undefined. */
export interface StepPlan {
  /** Number of rows of all task sets, or of the supervised data. */
  readonly rows: number | undefined;
  readonly exploreSteps: number | undefined;
  /**
   * Minimum number of explore steps. With dynamic sampling, it is less than `exploreSteps`, because
   * a step may draw up to `mostTasksPerExploreStep` tasks.
   */
  readonly leastExploreSteps: number | undefined;
  readonly tasksPerExploreStep: number;
  readonly mostTasksPerExploreStep: number;
  readonly runsPerTask: number;
  /**
   * Number of experiences if each rollout yields one experience. Workflows with several turns yield
   * more.
   */
  readonly experiencesPerExploreStep: number;
  readonly trainBatchSize: number;
  readonly trainBatchUnit: TrainBatchConfig['unit'];
  /**
   * Number of train steps per explore step if every rollout succeeds; undefined if it depends on
   * the number of model calls.
   */
  readonly trainStepsPerExploreStep: number | undefined;
  readonly trainSteps: number | undefined;
  /**
   * Minimum number of train steps: 0 with dynamic sampling, because all experiences may be filtered
   * out.
   */
  readonly leastTrainSteps: number | undefined;
  /** Number of weight updates of the explorer. */
  readonly syncs: number | undefined;
  /**
   * Maximum lag of the sampling weights in explore steps; undefined if only the capacity of the
   * experience buffer limits the lag.
   */
  readonly maxStaleness: number | undefined;
  readonly evaluations: number | undefined;
  readonly evalTasks: number | undefined;
  readonly checkpoints: number | undefined;
}

/**
 * Numbers of rows by the name of the task set or data set. Evaluation sets have the name
 * `eval/NAME`.
 */
type Counts = Readonly<Record<string, number>>;

export function planSteps(stage: StageConfig, counts: Counts): StepPlan {
  const { buffer, algorithm, mode } = stage;
  const explores = mode === 'both';
  const rows = rowsOf(stage, counts);
  const exploreSteps = explores ? countExploreSteps(stage, rows) : 0;
  const experiencesPerExploreStep = explores ? buffer.batchSize * algorithm.repeatTimes : 0;
  const trainSteps = countTrainSteps(stage, rows, exploreSteps);
  const { enable: fills, maxBatches } = stage.explorer.dynamicSampling;
  const mostBatches = fills ? maxBatches : 1;
  // The minimum is reached if every step draws its maximum number of tasks, even if all their
  // experiences are filtered out.
  const leastExploreSteps =
    buffer.totalSteps !== undefined || exploreSteps === undefined
      ? exploreSteps
      : Math.ceil(exploreSteps / mostBatches);
  return {
    rows,
    exploreSteps,
    leastExploreSteps,
    tasksPerExploreStep: explores ? buffer.batchSize : 0,
    mostTasksPerExploreStep: explores ? buffer.batchSize * mostBatches : 0,
    runsPerTask: explores ? algorithm.repeatTimes : 0,
    experiencesPerExploreStep,
    trainBatchSize: mode === 'bench' ? 0 : buffer.trainBatchSize,
    trainBatchUnit: buffer.trainBatch.unit,
    trainStepsPerExploreStep: explores ? trainStepsPerExploreStep(buffer.trainBatch) : 0,
    trainSteps,
    leastTrainSteps: fills ? 0 : trainSteps,
    syncs: exploreSteps === undefined ? undefined : countSyncs(stage, { exploreSteps, trainSteps }),
    maxStaleness: stalenessBoundOf(stage.synchronizer),
    evaluations: countEvaluations(stage, exploreSteps),
    evalTasks: sum(
      buffer.explorerInput.evalTasksets.map(({ name, repeatTimes }) => {
        const count = counts[`eval/${name}`];
        return count === undefined ? undefined : count * repeatTimes;
      }),
    ),
    checkpoints: countCheckpoints(stage, trainSteps),
  };
}

/**
 * Returns the number of model calls, assuming one call per rollout, and the number of rows that are
 * trained on. Returns undefined if a count is unknown.
 */
export function countWork(
  stage: StageConfig,
  steps: StepPlan,
): { readonly calls: number; readonly trainRows: number } | undefined {
  const { mode } = stage;
  if (mode !== 'both' && mode !== 'train') return undefined;
  const { exploreSteps, trainSteps, evaluations, evalTasks } = steps;
  if (exploreSteps === undefined || trainSteps === undefined) return undefined;
  if (evaluations === undefined || (evaluations > 0 && evalTasks === undefined)) return undefined;
  const runs = exploreSteps * steps.mostTasksPerExploreStep * steps.runsPerTask;
  return {
    calls: runs + evaluations * (evalTasks ?? 0),
    trainRows: trainSteps * rowsPerBatch(stage),
  };
}

/**
 * Returns the number of rows of a train batch, if each rollout yields one experience. A pair has
 * two rows, and a task has one per rollout.
 */
export function rowsPerBatch({ algorithm, buffer }: StageConfig): number {
  const { size, own, unit } = buffer.trainBatch;
  if (algorithm.schema !== 'experience') return size * (algorithm.schema === 'dpo' ? 2 : 1);
  return size - own + own * (unit === 'tasks' ? algorithm.repeatTimes : 1);
}

function rowsOf({ buffer }: StageConfig, counts: Counts): number | undefined {
  const { experienceBuffer } = buffer.trainerInput;
  if (experienceBuffer.storageType === 'file') return counts[experienceBuffer.name];
  return sum(buffer.explorerInput.tasksets.map(({ name }) => counts[name]));
}

function sum(numbers: readonly (number | undefined)[]): number | undefined {
  return numbers.reduce<number | undefined>(
    (total, number) => (total === undefined || number === undefined ? undefined : total + number),
    0,
  );
}

/**
 * Returns the number of complete batches in `epochs` passes over the rows. Does not count an
 * incomplete batch at the end of the last pass.
 */
function stepsOf(rows: number | undefined, epochs: number, batchSize: number): number | undefined {
  return rows === undefined ? undefined : Math.floor((rows * epochs) / batchSize);
}

/**
 * Returns the number of explore steps until the tasks run out or the trainer has made its last
 * step.
 */
function countExploreSteps(
  { buffer, trainer }: StageConfig,
  rows: number | undefined,
): number | undefined {
  const all = buffer.totalSteps ?? stepsOf(rows, buffer.totalEpochs, buffer.batchSize);
  const { totalSteps } = trainer;
  if (totalSteps === undefined || buffer.trainBatch.perExploreStep === undefined) return all;
  const perStep = trainStepsPerExploreStep(buffer.trainBatch) ?? 1;
  return Math.min(all ?? Infinity, Math.ceil(totalSteps / perStep - 1e-9));
}

function countTrainSteps(
  { mode, buffer, trainer }: StageConfig,
  rows: number | undefined,
  exploreSteps: number | undefined,
): number | undefined {
  if (mode === 'bench') return 0;
  if (mode === 'serve') return trainer.totalSteps;
  const bound = trainer.totalSteps ?? Infinity;
  if (mode === 'both') {
    const all =
      exploreSteps === undefined ? undefined : trainStepsOf(buffer.trainBatch, exploreSteps);
    return all === undefined ? trainer.totalSteps : Math.min(all, bound);
  }
  const supervised = buffer.trainerInput.experienceBuffer.storageType === 'file';
  const all = supervised
    ? (buffer.totalSteps ?? stepsOf(rows, buffer.totalEpochs, buffer.trainBatchSize))
    : buffer.totalSteps;
  return all === undefined ? trainer.totalSteps : Math.min(all, bound);
}

/**
 * Returns the number of weight updates: one per interval of explore steps after the offset. If the
 * trainer determines when weights are published, returns the maximum instead: one per interval of
 * train steps.
 */
function countSyncs(
  { mode, synchronizer }: StageConfig,
  { exploreSteps, trainSteps }: { readonly exploreSteps: number; readonly trainSteps?: number },
): number | undefined {
  if (mode !== 'both') return 0;
  const { syncStyle, syncOffset, explorerSyncInterval, trainerSyncInterval } = synchronizer;
  if (syncStyle === 'trainer_driven' || syncStyle === 'fully_async')
    return trainSteps && Math.floor(trainSteps / trainerSyncInterval);
  return Math.max(0, Math.floor((exploreSteps - syncOffset) / explorerSyncInterval));
}

function countEvaluations(
  { mode, explorer, buffer }: StageConfig,
  exploreSteps: number | undefined,
): number | undefined {
  if (mode === 'train' || buffer.explorerInput.evalTasksets.length === 0) return 0;
  if (mode === 'bench' || exploreSteps === undefined) return undefined;
  // Counts one evaluation at the start if configured, one per interval, and one of the last
  // weights.
  const { evalOnStartup, evalInterval } = explorer;
  const between = evalInterval === undefined ? 0 : Math.floor(exploreSteps / evalInterval);
  return (evalOnStartup ? 1 : 0) + between + 1;
}

/**
 * Returns the number of checkpoints that are kept. A checkpoint is written every `saveInterval`
 * steps, and at the end.
 */
function countCheckpoints(
  { mode, trainer }: StageConfig,
  trainSteps: number | undefined,
): number | undefined {
  if (mode === 'bench') return 0;
  if (trainer.saveInterval === undefined) return 1;
  if (trainSteps === undefined) return trainer.maxCheckpointsToKeep;
  const all = Math.ceil(trainSteps / trainer.saveInterval);
  return Math.min(all, trainer.maxCheckpointsToKeep ?? Infinity);
}
