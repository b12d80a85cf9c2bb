/** Draws more tasks until an explore step has enough usable rollouts for a batch. */
import {
  runKey,
  type Experience,
  type Logger,
  type Metrics,
  type Task,
  taskKey,
} from '@trinity-rft/core';
import type { TaskDraw, TaskFeed } from './explorer-options.js';
import { exploredOf, type Explored, type ExploredOptions } from './pipeline.js';
import type { UsableOutcome } from './runs/wait-for-enough.js';
import type { DynamicSampling } from './explorer-options.js';

interface FillOptions extends ExploredOptions {
  readonly feed: Pick<TaskFeed, 'next'>;
  readonly exploreTasks: (
    tasks: readonly Task[],
    what: string,
  ) => Promise<readonly UsableOutcome[]>;
}

export interface BatchFiller {
  /** Returns the tasks to draw first for the next step; undefined to draw a batch of tasks. */
  firstDraw(): TaskDraw | undefined;
  /**
   * Returns `first` together with the results of more tasks, drawn until the batch is full, the
   * limit is reached or the tasks end.
   */
  fill(first: Explored, step: number, options: FillOptions): Promise<Explored>;
  /** Returns the metrics of the last step, under `rollout/dynamic_sampling/`. */
  metrics(): Metrics;
  /**
   * Returns the number of rollouts (or tasks) that were stored for the next batch, because they
   * exceeded the last full batch. The next step needs that many fewer. Undefined if dynamic
   * sampling is off.
   */
  carried(): number | undefined;
  restore(carried: number): void;
}

/**
 * Creates a filler for dynamic sampling as in DAPO (arXiv:2503.14476, section 3.2). The filler
 * replaces groups that the operators drop with groups of new tasks. Unless `unit` is `tasks`, it
 * also replaces failed rollouts. If a step yields more rollouts or tasks than the batch needs, they
 * are stored too, and the next step needs that many fewer. So every step completes one batch,
 * unless the limit is reached or the tasks run out.
 */
export function createBatchFiller(
  settings: DynamicSampling | undefined,
  logger: Logger,
): BatchFiller {
  if (!settings) return unfilled;
  const { batchSize, unit, maxBatches } = settings;
  const keyOf = unit === 'tasks' ? taskKey : runKey;
  const perTask = unit === 'tasks' ? 1 : settings.repeatTimes;
  const full = batchSize * perTask;
  // As the store counts them: copies of a run, of duplicate_experiences, have its key.
  const membersOf = (experiences: readonly Experience[]): number =>
    experiences.map(({ eid }) => keyOf(eid)).filter((key, i, keys) => key !== keys[i - 1]).length;
  let carried = 0;
  let metrics: Metrics = {};

  const fill: BatchFiller['fill'] = async (first, step, options) => {
    const wanted = full - carried;
    let explored = first;
    let rounds = 1;
    let kept = membersOf(first.experiences);
    for (;;) {
      const drawn = explored.outcomes.length;
      const left = batchSize * maxBatches - drawn;
      if (kept >= wanted || left <= 0) break;
      const missing = Math.ceil((wanted - kept) / perTask);
      // Number of tasks that fill the batch if the share of usable tasks stays the same.
      const needed = kept === 0 ? batchSize : Math.ceil(((wanted - kept) * drawn) / kept);
      const count = Math.min(batchSize, left, step === settings.lastStep ? missing : needed);
      const tasks = await options.feed.next(step, { count, firstTask: drawn });
      if (tasks.length === 0) break;
      const further = await options.exploreTasks(tasks, `explore step ${step}`);
      explored = exploredOf([...explored.outcomes, ...further], options);
      kept = membersOf(explored.experiences);
      rounds++;
    }
    const drawn = explored.outcomes.length;
    const isBoundHit = kept < wanted && drawn >= batchSize * maxBatches;
    if (isBoundHit) logger.warn(boundHit(step, { drawn, kept, wanted, maxBatches, unit }));
    carried = (carried + kept) % full;
    metrics = {
      'rollout/dynamic_sampling/rounds': rounds,
      'rollout/dynamic_sampling/tasks': drawn,
      'rollout/dynamic_sampling/kept': kept,
      'rollout/dynamic_sampling/missing': Math.max(0, wanted - kept),
      'rollout/dynamic_sampling/carried': carried,
      'rollout/dynamic_sampling/bound_hit': isBoundHit ? 1 : 0,
    };
    return explored;
  };
  return {
    firstDraw: () => ({ count: Math.ceil((full - carried) / perTask), firstTask: 0 }),
    fill,
    metrics: () => metrics,
    carried: () => carried,
    restore: (members) => {
      carried = members;
    },
  };
}

const unfilled: BatchFiller = {
  firstDraw: () => undefined,
  fill: (first) => Promise.resolve(first),
  metrics: () => ({}),
  carried: () => undefined,
  restore: () => undefined,
};

interface BoundHit extends Pick<DynamicSampling, 'maxBatches' | 'unit'> {
  readonly drawn: number;
  readonly kept: number;
  readonly wanted: number;
}

const boundHit = (step: number, { drawn, kept, wanted, maxBatches, unit }: BoundHit): string =>
  `Explore step ${step} drew ${drawn} tasks, as many as explorer.dynamic_sampling.max_batches ${maxBatches} allows, and has ${kept} of ${wanted} usable ${unit}; the next step makes the others. The tasks may be too easy or too hard for the model.`;
