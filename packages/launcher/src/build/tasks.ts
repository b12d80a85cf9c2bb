/** Task sets of a stage, opened: what is explored, and what is evaluated. */
import { createTasksetScheduler, openTaskSource, readTaskRows } from '@trinity-rft/buffer';
import type { StageConfig, TasksetConfig } from '@trinity-rft/config';
import { toTask, type EvalSet, type TaskFeed, type TasksetSettings } from '@trinity-rft/explorer';
import type { StageContext } from '../context.js';

export interface StageTasks extends AsyncDisposable {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** Explore steps until the tasks end. */
  readonly exploreSteps: number;
}

/** Every file is read now, so that nothing starts with a broken one. @throws TaskError */
export async function openTasks({ stage, signal }: StageContext): Promise<StageTasks> {
  const { tasksets, evalTasksets } = stage.buffer.explorerInput;
  const evalSets = await Promise.all(evalTasksets.map((taskset) => openEvalSet(taskset, signal)));
  const { feed, exploreSteps, close } = tasksets.length > 0 ? await openFeed(stage, signal) : nothingToExplore;
  return { feed, evalSets, exploreSteps, [Symbol.asyncDispose]: close };
}

const nothingToExplore = {
  feed: { next: () => Promise.resolve([]), state: () => ({}), restore: () => undefined } satisfies TaskFeed,
  exploreSteps: 0,
  close: () => Promise.resolve(),
};

async function openFeed(
  { buffer, seed }: StageConfig,
  signal: AbortSignal,
): Promise<{ feed: TaskFeed; exploreSteps: number; close: () => Promise<void> }> {
  const { tasksets } = buffer.explorerInput;
  const sources = await Promise.all(
    tasksets.map((taskset) =>
      openTaskSource({
        ...rowsOf(taskset, signal),
        selector: taskset.dataSelector.selectorType,
        seed: taskset.dataSelector.seed ?? seed,
        totalEpochs: Infinity,
      }),
    ),
  );
  const scheduler = createTasksetScheduler(sources, {
    batchSize: buffer.batchSize,
    seed,
    totalEpochs: buffer.totalEpochs,
    ...(buffer.totalSteps !== undefined && { totalSteps: buffer.totalSteps }),
  });
  const settings = new Map(tasksets.map((taskset) => [taskset.name, settingsOf(taskset)]));
  const feed: TaskFeed = {
    next: async (step) => {
      const rows = await scheduler.next();
      return rows.map((row, taskId) => toTask(row, settings.get(row.taskset)!, { batchId: step, taskId, isEval: false }));
    },
    state: () => scheduler.state(),
    restore: (state) => scheduler.restore(state),
  };
  return { feed, exploreSteps: scheduler.totalSteps, close: () => scheduler.close() };
}

async function openEvalSet(taskset: TasksetConfig, signal: AbortSignal): Promise<EvalSet> {
  const rows = await readTaskRows(rowsOf(taskset, signal));
  const settings = settingsOf(taskset);
  return {
    name: taskset.name,
    tasks: (step) =>
      Promise.resolve(
        rows.map((rawTask, row) => toTask({ row, rawTask }, settings, { batchId: `${step}/${taskset.name}`, taskId: row, isEval: true })),
      ),
  };
}

function rowsOf(taskset: TasksetConfig, signal: AbortSignal): Parameters<typeof readTaskRows>[0] {
  const { name, path, split, subsetName } = taskset;
  return { name, path, split, signal, ...(subsetName !== undefined && { subsetName }) };
}

function settingsOf(taskset: TasksetConfig): TasksetSettings {
  const { name, workflow = '', rewardFn, format, rolloutArgs, workflowArgs, rewardFnArgs, repeatTimes } = taskset;
  return {
    name,
    defaultWorkflow: workflow,
    ...(rewardFn !== undefined && { defaultRewardFn: rewardFn }),
    formatArgs: format,
    rolloutArgs,
    workflowArgs,
    rewardFnArgs,
    repeatTimes,
  };
}
