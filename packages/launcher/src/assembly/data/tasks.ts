/** Opens and checks the task sets of a stage, for exploration and for evaluation. */
import type { Environment } from '@trinity-rft/buffer/internal';
import { createTasksetScheduler, createTaskSource, readTaskRows } from '@trinity-rft/buffer';
import type { StageConfig, TasksetConfig } from '@trinity-rft/config';
import { ConfigError, type RawTask, type Task, TaskError } from '@trinity-rft/core';
import type { LeasedTask } from '@trinity-rft/core/store';
import { copyOf, returnedBy } from '@trinity-rft/core/support';
import { toTask, type EvalSet, type ExplorerState, type TaskFeed } from '@trinity-rft/explorer';
import type { TaskParts } from '../../context/stage-context.js';
import { checkRowKeys, type RowFindings, sourceOf } from './check-rows.js';

export interface StageTasks extends AsyncDisposable {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** Number of explore steps until all tasks are consumed; an upper bound with dynamic sampling. */
  readonly exploreSteps: number;
  /** Returns true if an explorer with this state has no task left to explore. */
  readonly areUsedUp: (state: ExplorerState) => boolean;
  /**
   * Finds a task that another process has planned.
   * @throws TaskError if these task sets lack the row
   */
  taskAt(planned: LeasedTask): Promise<Task>;
}

/** Options for reading rows. */
export interface Reading {
  readonly signal: AbortSignal;
  /** Environment variables of the stage, including those for the Hugging Face hub. */
  readonly env: Environment;
}

interface PlacedTaskset {
  readonly taskset: TasksetConfig;
  /** Configuration key of the task set, such as `['buffer', 'explorer_input', 'tasksets', 0]`. */
  readonly place: readonly (string | number)[];
}

/** Returns all task sets of a stage. The task sets to explore come first. */
export function tasksetsOf({ buffer }: StageConfig): readonly PlacedTaskset[] {
  const { tasksets, evalTasksets } = buffer.explorerInput;
  const placed = (list: string, sets: readonly TasksetConfig[]): readonly PlacedTaskset[] =>
    sets.map((taskset, index) => ({ taskset, place: ['buffer', 'explorer_input', list, index] }));
  return [...placed('tasksets', tasksets), ...placed('eval_tasksets', evalTasksets)];
}

/**
 * Opens the task sets of a stage. Reads every file immediately, so that a damaged file is reported
 * before the first rollout.
 * @throws TaskError if a task set cannot be used
 */
export async function openTasks(
  stage: StageConfig,
  parts: TaskParts,
  reading: Reading,
): Promise<StageTasks> {
  const { tasksets, evalTasksets } = stage.buffer.explorerInput;
  const read = (taskset: TasksetConfig) => readRows(taskset, parts, reading);
  const evalSets = await Promise.all(
    evalTasksets.map(async (taskset) => evalSetOf(taskset, await read(taskset))),
  );
  const rows: TaskRows = new Map(
    await Promise.all(
      tasksets.map(async (taskset) => [taskset.name, await read(taskset)] as const),
    ),
  );
  const { close, ...opened } = tasksets.length > 0 ? openFeed(stage, rows) : nothingToExplore;
  const taskAt = async (planned: LeasedTask): Promise<Task> => {
    const evalSet = evalSets.find(({ name }) => name === planned.taskset);
    const task = planned.isEval
      ? (await evalSet?.tasks(planned.step))?.[planned.row]
      : exploreTask(tasksets, rows, planned);
    return task ?? noSuchTask(planned);
  };
  return { ...opened, evalSets, taskAt, [Symbol.asyncDispose]: close };
}

interface OpenedFeed extends Pick<StageTasks, 'feed' | 'exploreSteps' | 'areUsedUp'> {
  readonly close: () => Promise<void>;
}

const nothingToExplore: OpenedFeed = {
  feed: { next: () => Promise.resolve([]), state: () => ({}), restore: () => undefined },
  exploreSteps: 0,
  areUsedUp: () => true,
  close: () => Promise.resolve(),
};

/** Rows by the name of their task set. */
type TaskRows = ReadonlyMap<string, readonly RawTask[]>;

function openFeed({ buffer, seed, explorer }: StageConfig, rows: TaskRows): OpenedFeed {
  const { enable: fills, maxBatches } = explorer.dynamicSampling;
  const { tasksets } = buffer.explorerInput;
  const sources = tasksets.map(({ name, dataSelector }) =>
    createTaskSource(rows.get(name) ?? [], {
      name,
      ...dataSelector,
      seed: dataSelector.seed ?? seed,
      totalEpochs: Infinity,
    }),
  );
  const scheduler = createTasksetScheduler(sources, {
    batchSize: buffer.batchSize,
    seed,
    totalEpochs: buffer.totalEpochs,
    totalSteps:
      buffer.totalSteps === undefined ? undefined : buffer.totalSteps * (fills ? maxBatches : 1),
  });
  if (scheduler.totalSteps === 0) {
    const count = sources.reduce((sum, source) => sum + source.size, 0);
    throw new TaskError(
      `The task sets hold ${count} tasks, which is not one explore step of buffer.batch_size ${buffer.batchSize} in ${buffer.totalEpochs} epochs. Lower batch_size or raise total_epochs.`,
      { code: 'TASKS_TOO_FEW' },
    );
  }
  const tasksetOf = new Map(tasksets.map((taskset) => [taskset.name, taskset]));
  const feed: TaskFeed = {
    next: async (step, { count, firstTask } = { count: buffer.batchSize, firstTask: 0 }) => {
      const drawn = await scheduler.next(count);
      return drawn.map((row, i) =>
        toTask(row, tasksetOf.get(row.taskset)!, {
          batchId: step,
          taskId: firstTask + i,
          isEval: false,
        }),
      );
    },
    feedback: learns(tasksets) ? (feedback) => scheduler.feedback?.(feedback) : undefined,
    state: () => scheduler.state(),
    restore: (state) => {
      // Commits of a run without explore steps store an empty position.
      if (Object.keys(state).length > 0) scheduler.restore(state);
    },
  };
  const exploreSteps = buffer.totalSteps ?? scheduler.totalSteps;
  const lastTask = scheduler.totalSteps * buffer.batchSize;
  return {
    feed,
    exploreSteps,
    areUsedUp: (state) =>
      state.step >= exploreSteps || (fills && Number(state.feed['cursor']) >= lastTask),
    close: () => scheduler.close(),
  };
}

const learns = (tasksets: readonly TasksetConfig[]): boolean =>
  tasksets.some(({ dataSelector }) => dataSelector.selectorType === 'difficulty_based');

function exploreTask(
  tasksets: readonly TasksetConfig[],
  rows: TaskRows,
  { taskset: name, row, step, task }: LeasedTask,
): Task | undefined {
  const taskset = tasksets.find((each) => each.name === name);
  const rawTask = rows.get(name)?.[row];
  if (!taskset || !rawTask) return undefined;
  return toTask({ row, rawTask }, taskset, { batchId: step, taskId: task, isEval: false });
}

function noSuchTask({ taskset, row, isEval }: LeasedTask): never {
  throw new TaskError(
    `The trainer has planned row ${row} of the ${isEval ? 'evaluation ' : ''}task set "${taskset}", which this explorer does not have. Give both processes the same task sets.`,
    { code: 'TASK_UNKNOWN' },
  );
}

const evalSetOf = (taskset: TasksetConfig, rows: readonly RawTask[]): EvalSet => ({
  name: taskset.name,
  tasks: async (step) =>
    rows.map((rawTask, row) =>
      toTask({ row, rawTask }, taskset, {
        batchId: `${step}/${taskset.name}`,
        taskId: row,
        isEval: true,
      }),
    ),
});

/**
 * Returns the tasks of the first task set, in the order of its file.
 * @throws TaskError if the task set cannot be used
 */
export async function readTasks(
  { buffer }: StageConfig,
  batchId: string,
  parts: TaskParts,
  reading: Reading,
): Promise<readonly Task[]> {
  const taskset = buffer.explorerInput.tasksets[0];
  if (!taskset) return [];
  const rows = await readRows(taskset, parts, reading);
  return rows.map((rawTask, row) =>
    toTask({ row, rawTask }, taskset, { batchId, taskId: row, isEval: false }),
  );
}

async function readRows(
  taskset: TasksetConfig,
  parts: TaskParts,
  reading: Reading,
): Promise<readonly RawTask[]> {
  const { rows, problems } = await readTaskset(taskset, parts, reading);
  const [first] = problems;
  if (first === undefined) return rows;
  const { key, message } = first;
  throw new TaskError(`${key.join('.')} of task set "${taskset.name}": ${message}`, {
    code: 'TASK_ROWS',
  });
}

/**
 * Reads or generates the rows of a task set, and checks them. @throws TaskError when they cannot be
 * read
 */
export async function readTaskset(
  taskset: TasksetConfig,
  parts: TaskParts,
  reading: Reading,
): Promise<RowFindings & { readonly rows: readonly RawTask[] }> {
  const isGenerated = taskset.storageType === 'generated';
  const rows = isGenerated ? generatedRows(taskset, parts) : await storedRows(taskset, reading);
  const { problems, warnings } = checkTasks(rows, taskset, parts);
  const { taskCount = 0 } = taskset;
  if (!isGenerated || rows.length === taskCount) return { problems, warnings, rows };
  const message = `got ${taskCount}, but the number of generated tasks is ${rows.length}. Let \`tasks\` return as many rows as \`count\` says, or set the number that there are.`;
  return { problems, warnings: [...warnings, { key: ['task_count'], message }], rows };
}

/**
 * Reads the rows of a task set from its file, database or hub data set.
 * @throws TaskError if the rows cannot be read; CancelledError if the signal aborts
 */
export function storedRows(
  taskset: TasksetConfig,
  { signal, env: environment }: Reading,
): Promise<readonly RawTask[]> {
  const { name, path, split, subsetName, table, query, format } = taskset;
  const storageType = taskset.storageType === 'sql' ? ('sql' as const) : ('file' as const);
  const from = { name, path, storageType, table, query, split, signal, subsetName, environment };
  return readTaskRows({ ...from, columns: columnsOf(format) });
}

function generatedRows(
  { name, workflow = '', workflowArgs, split, taskCount = 0, taskSeed }: TasksetConfig,
  { workflows }: TaskParts,
): readonly RawTask[] {
  const part = split === 'eval' ? 'eval' : 'train';
  const range = { split: part, count: taskCount, seed: taskSeed } as const;
  const rows: unknown = workflows.get(workflow).tasks?.(copyOf(workflowArgs), range);
  const by = returnedBy(
    `The tasks of workflow "${workflow}"`,
    (message) => new TaskError(message, { code: 'TASKS_NOT_GENERATED' }),
  );
  if (rows !== undefined)
    return by.list(rows, 'a list of rows').map((row, at) => by.info(row, ` as row ${at}`));
  throw new TaskError(`Task set "${name}": workflow "${workflow}" generates no tasks.`, {
    code: 'TASKS_NOT_GENERATED',
  });
}

/** Returns every column that the format names. */
const columnsOf = (format: TasksetConfig['format']): readonly (string | undefined)[] => [
  format.promptKey,
  format.responseKey,
  format.systemPromptKey,
  format.messagesKey,
  format.toolsKey,
  format.workflowKey,
  format.rewardFnKey,
];

/**
 * Returns the problems of the rows of a task set. @throws TaskError if the selector needs a column
 * that the rows lack
 */
export function checkTasks(
  rows: readonly RawTask[],
  taskset: TasksetConfig,
  parts: TaskParts,
): RowFindings {
  const { name, format } = taskset;
  // Throws if the rows lack the columns that the selector orders by.
  if (!taskset.isEval) createTaskSource(rows, { name, ...taskset.dataSelector });
  const findings = checkRowKeys(rows, taskset, parts);
  // The names in the configuration itself have already been checked.
  if (
    findings.problems.length === 0 &&
    (format.workflowKey !== undefined || format.rewardFnKey !== undefined)
  )
    rows.forEach((rawTask, row) => assertNamesKnown(rawTask, row, taskset, parts));
  return findings;
}

/**
 * Checks that the workflow and the reward function that a row names exist.
 * @throws TaskError with the number of the row if a name is unknown
 */
function assertNamesKnown(
  rawTask: RawTask,
  row: number,
  taskset: TasksetConfig,
  { workflows, rewardFns }: TaskParts,
): void {
  const { workflow, rewardFn } = toTask({ row, rawTask }, taskset, {
    batchId: 0,
    taskId: row,
    isEval: taskset.isEval,
  });
  const reject = (problem: string, cause?: unknown): never => {
    throw new TaskError(
      `Row ${row} of task set "${taskset.name}" (${sourceOf(taskset)}): ${problem}`,
      { code: 'TASK_NAMES', cause },
    );
  };
  if (workflow === '')
    reject(
      `it names no workflow under "${taskset.format.workflowKey}", and the task set has no default_workflow_type. Set one of them.`,
    );
  try {
    workflows.get(workflow);
    if (rewardFn !== undefined) rewardFns.get(rewardFn).create(taskset.rewardFnArgs);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    reject(cause.message, cause);
  }
}
