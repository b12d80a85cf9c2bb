/** The task sets of a stage: those to explore and those to evaluate. */
import { createTasksetScheduler, createTaskSource, readTaskRows } from '@trinity-rft/buffer';
import type { TasksetConfig } from '@trinity-rft/config';
import { ConfigError, type RawTask, type Task, TaskError } from '@trinity-rft/core';
import type { LeasedTask } from '@trinity-rft/core/store';
import { copyOf, redactText, returnedBy } from '@trinity-rft/core/support';
import { toTask, type EvalSet, type ExplorerState, type TaskFeed } from '@trinity-rft/explorer';
import type { StageContext } from '../../context/stage-context.js';
import { checkRowKeys, type RowFindings } from './check-rows.js';

export interface StageTasks extends AsyncDisposable {
  readonly feed: TaskFeed;
  readonly evalSets: readonly EvalSet[];
  /** Number of explore steps until the tasks are used up; with dynamic sampling, at most. */
  readonly exploreSteps: number;
  /** Nothing is left to explore after that state. */
  readonly areUsedUp: (state: ExplorerState) => boolean;
  /** A task that another process has planned. @throws TaskError when there is no such row here */
  taskAt(planned: LeasedTask): Promise<Task>;
}

export type TasksContext = Pick<StageContext, 'stage' | 'signal' | 'workflows' | 'rewardFns'>;

/** Reads every file now, so that a broken one is found before anything starts. @throws TaskError */
export async function openTasks(context: TasksContext): Promise<StageTasks> {
  const { tasksets, evalTasksets } = context.stage.buffer.explorerInput;
  const evalSets = await Promise.all(evalTasksets.map((taskset) => openEvalSet(taskset, context)));
  const opened = tasksets.length > 0 ? await openFeed(context) : nothingToExplore;
  const { feed, exploreSteps, areUsedUp, rows } = opened;
  const taskAt = async (planned: LeasedTask): Promise<Task> => {
    const evalSet = evalSets.find(({ name }) => name === planned.taskset);
    const task = planned.isEval
      ? (await evalSet?.tasks(planned.step))?.[planned.row]
      : exploreTask(tasksets, rows, planned);
    return task ?? noSuchTask(planned);
  };
  const close = (): Promise<void> => opened.close();
  return { feed, evalSets, exploreSteps, areUsedUp, taskAt, [Symbol.asyncDispose]: close };
}

const nothingToExplore = {
  feed: {
    next: () => Promise.resolve([]),
    state: () => ({}),
    restore: () => undefined,
  } satisfies TaskFeed,
  exploreSteps: 0,
  areUsedUp: () => true,
  rows: new Map<string, readonly RawTask[]>(),
  close: () => Promise.resolve(),
};

interface OpenedFeed extends Pick<StageTasks, 'feed' | 'exploreSteps' | 'areUsedUp'> {
  /** Keyed by the name of their set. */
  readonly rows: ReadonlyMap<string, readonly RawTask[]>;
  readonly close: () => Promise<void>;
}

async function openFeed(context: TasksContext): Promise<OpenedFeed> {
  const { buffer, seed, explorer } = context.stage;
  const { enable: fills, maxBatches } = explorer.dynamicSampling;
  const { tasksets } = buffer.explorerInput;
  const rows = new Map<string, readonly RawTask[]>();
  const sources = await Promise.all(
    tasksets.map(async (taskset) => {
      const { name, dataSelector } = taskset;
      const order = {
        name,
        ...dataSelector,
        seed: dataSelector.seed ?? seed,
        totalEpochs: Infinity,
      };
      const read = await readRows(taskset, context);
      rows.set(name, read);
      return createTaskSource(read, order);
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
    restore: (state) => scheduler.restore(state),
  };
  const exploreSteps = buffer.totalSteps ?? scheduler.totalSteps;
  const lastTask = scheduler.totalSteps * buffer.batchSize;
  return {
    feed,
    exploreSteps,
    rows,
    areUsedUp: (state) =>
      state.step >= exploreSteps || (fills && Number(state.feed['cursor']) >= lastTask),
    close: () => scheduler.close(),
  };
}

const learns = (tasksets: readonly TasksetConfig[]): boolean =>
  tasksets.some(({ dataSelector }) => dataSelector.selectorType === 'difficulty_based');

function exploreTask(
  tasksets: readonly TasksetConfig[],
  rows: ReadonlyMap<string, readonly RawTask[]>,
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

async function openEvalSet(taskset: TasksetConfig, context: TasksContext): Promise<EvalSet> {
  const rows = await readRows(taskset, context);
  return {
    name: taskset.name,
    tasks: (step) =>
      Promise.resolve(
        rows.map((rawTask, row) =>
          toTask({ row, rawTask }, taskset, {
            batchId: `${step}/${taskset.name}`,
            taskId: row,
            isEval: true,
          }),
        ),
      ),
  };
}

/** Every row of the first task set, in the order of its file. @throws TaskError */
export async function readTasks(context: TasksContext, batchId: string): Promise<readonly Task[]> {
  const taskset = context.stage.buffer.explorerInput.tasksets[0];
  if (!taskset) return [];
  const rows = await readRows(taskset, context);
  return rows.map((rawTask, row) =>
    toTask({ row, rawTask }, taskset, { batchId, taskId: row, isEval: false }),
  );
}

async function readRows(
  taskset: TasksetConfig,
  context: TasksContext,
): Promise<readonly RawTask[]> {
  const { rows, problems } = await readTaskset(taskset, context);
  const [first] = problems;
  if (first === undefined) return rows;
  const { key, message } = first;
  throw new TaskError(`${key.join('.')} of task set "${taskset.name}": ${message}`, {
    code: 'TASK_ROWS',
  });
}

/** The rows of a task set, and what is wrong with them. @throws TaskError when they cannot be read */
export async function readTaskset(
  taskset: TasksetConfig,
  context: Omit<TasksContext, 'stage'>,
): Promise<RowFindings & { readonly rows: readonly RawTask[] }> {
  const rows =
    taskset.storageType === 'generated'
      ? generatedRows(taskset, context)
      : await storedRows(taskset, context.signal);
  return { ...checkTasks(rows, taskset, context), rows };
}

function storedRows(taskset: TasksetConfig, signal: AbortSignal): Promise<readonly RawTask[]> {
  const { name, path, split, subsetName, table, query, format } = taskset;
  const storageType = taskset.storageType === 'sql' ? ('sql' as const) : ('file' as const);
  const from = { name, path, storageType, table, query, split, signal, subsetName };
  return readTaskRows({ ...from, columns: columnsOf(format) });
}

function generatedRows(
  { name, workflow = '', workflowArgs, split, taskCount = 0, taskSeed }: TasksetConfig,
  { workflows }: Pick<TasksContext, 'workflows'>,
): readonly RawTask[] {
  const range = {
    split: split === 'eval' ? 'eval' : 'train',
    count: taskCount,
    seed: taskSeed,
  } as const;
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

/** Every column that the format names. */
export const columnsOf = (format: TasksetConfig['format']): readonly (string | undefined)[] => [
  format.promptKey,
  format.responseKey,
  format.systemPromptKey,
  format.messagesKey,
  format.toolsKey,
  format.workflowKey,
  format.rewardFnKey,
];

/** Problems of rows of a task set. @throws TaskError when they cannot be used at all */
export function checkTasks(
  rows: readonly RawTask[],
  taskset: TasksetConfig,
  context: Omit<TasksContext, 'stage'>,
): RowFindings {
  const { name, format } = taskset;
  // Fails if the rows lack what the selector orders them by.
  if (!taskset.isEval) createTaskSource(rows, { name, ...taskset.dataSelector });
  const findings = checkRowKeys(rows, taskset, context);
  // The names in the configuration itself have already been checked.
  if (
    findings.problems.length === 0 &&
    (format.workflowKey !== undefined || format.rewardFnKey !== undefined)
  )
    rows.forEach((rawTask, row) => assertNamesKnown(rawTask, row, taskset, context));
  return findings;
}

/**
 * A row may name its own workflow and reward function.
 * @throws TaskError naming the row with an unknown name
 */
function assertNamesKnown(
  rawTask: RawTask,
  row: number,
  taskset: TasksetConfig,
  { workflows, rewardFns }: Omit<TasksContext, 'stage'>,
): void {
  const { workflow, rewardFn } = toTask({ row, rawTask }, taskset, {
    batchId: 0,
    taskId: row,
    isEval: taskset.isEval,
  });
  const reject = (problem: string, cause?: unknown): never => {
    throw new TaskError(
      `Row ${row} of task set "${taskset.name}" (${redactText(taskset.path)}): ${problem}`,
      {
        code: 'TASK_NAMES',
        cause,
      },
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
