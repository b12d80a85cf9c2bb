/**
 * Finds the operators that the configuration of a pipeline names, and reads the input rows of the
 * pipeline.
 */
import type { PipelineResult, PipelineStep, TaskOperatorTable } from '@trinity-rft/buffer/internal';
import { runTaskPipeline, scoreColumns } from '@trinity-rft/buffer/internal';
import type { StageConfig, TaskPipelineConfig, TasksetConfig } from '@trinity-rft/config';
import { ConfigError, TaskError } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';
import { readArgs } from '@trinity-rft/core/support';
import { storedRows, type Reading } from '../data/tasks.js';
import { originDigest, type Rows, type TaskList } from './stored-tasks.js';

/**
 * Returns the operators of a pipeline with their arguments.
 * @throws ConfigError for an unknown operator or argument
 */
export function stepsOf(
  { operators }: TaskPipelineConfig,
  taskOperators: TaskOperatorTable,
): readonly PipelineStep[] {
  return operators.map(({ name, args }) => {
    const definition = taskOperators.find(name);
    if (!definition)
      throw new ConfigError(
        `There is no task operator "${name}". Known: ${taskOperators.names().join(', ')}.`,
        { code: 'UNKNOWN_NAME' },
      );
    return { definition, args: readArgs(`task operator "${name}"`, definition.args, args) };
  });
}

/**
 * Returns the columns that the operators process: the configured target columns, otherwise the
 * prompt and response columns.
 */
export function fieldsOf(
  { targetFields }: TaskPipelineConfig,
  rows: Rows,
  taskset: TasksetConfig,
): readonly string[] {
  if (targetFields.length > 0) return targetFields;
  const { promptKey, responseKey } = taskset.format;
  return [promptKey, responseKey].filter((key) =>
    rows.some((row) => fieldOf(row, key) !== undefined),
  );
}

/**
 * A task set with the rows that its pipeline starts from, and the digest of these rows and the
 * settings.
 */
export interface Origin {
  readonly taskset: TasksetConfig;
  readonly rows: Rows;
  readonly digest: string;
}

/** Tasks that are already stored and can be used, or the origin from which tasks must be made. */
type StoredTasks =
  | { readonly kept: TaskList; readonly origin?: undefined }
  | { readonly kept?: undefined; readonly origin: Origin };

/**
 * Returns the stored tasks if they were made from the current settings and rows, or if the training
 * run has begun: it keeps its tasks, even if settings or rows have changed. Otherwise reads the
 * rows to make tasks from.
 * @throws TaskError if the rows cannot be read; CancelledError if the signal aborts
 */
export async function storedTasks(
  reading: Reading & { readonly stage: StageConfig },
  pipeline: TaskPipelineConfig,
  stored: {
    readonly taskset: TasksetConfig;
    readonly list: TaskList | undefined;
    readonly hasBegun: boolean;
  },
): Promise<StoredTasks> {
  const { taskset, list, hasBegun } = stored;
  if (list && hasBegun) return { kept: list };
  const origin = await readOrigin(reading, pipeline, { taskset, list });
  return list?.settings === origin.digest ? { kept: list } : { origin };
}

/**
 * Reads the rows that the pipeline starts from.
 * @throws TaskError if the rows cannot be read; CancelledError if the signal aborts
 */
async function readOrigin(
  reading: Reading & { readonly stage: StageConfig },
  { inputs }: TaskPipelineConfig,
  { taskset, list }: { readonly taskset: TasksetConfig; readonly list: TaskList | undefined },
): Promise<Origin> {
  const places: readonly TasksetConfig[] =
    inputs.length === 0
      ? [taskset]
      : inputs.map(({ path }) => ({ ...taskset, storageType: 'file', path }));
  const parts = await Promise.all(places.map((place) => storedRows(place, reading)));
  const rows = parts.flat();
  return { taskset, rows, digest: originDigest(reading.stage, { taskset, rows }, list?.settings) };
}

/**
 * Checks the columns that `priority_weights` names.
 * @throws TaskError for a column that no task has and no operator makes
 */
export function checkColumns(
  { priorityWeights }: TaskPipelineConfig,
  steps: readonly PipelineStep[],
  rows: Rows,
): void {
  const added = steps.flatMap(({ definition }) => definition.adds ?? []);
  for (const name of Object.keys(priorityWeights)) {
    const column = scoreColumns[name] ?? name;
    if (added.includes(column) || rows.some((row) => fieldOf(row, column) !== undefined)) continue;
    const known = [...new Set([...Object.keys(rows[0] ?? {}), ...added])].join(', ');
    throw new TaskError(
      `priority_weights names "${name}", but no task has a column "${column}", and no operator adds one. There are ${known}.`,
      { code: 'TASK_PRIORITY' },
    );
  }
}

/** Executes the pipeline without model calls. Operators that would call a model keep all tasks. */
export async function tryPipeline(
  pipeline: TaskPipelineConfig,
  { taskset, rows }: Origin,
  taskOperators: TaskOperatorTable,
  { signal }: Pick<Reading, 'signal'>,
): Promise<PipelineResult & { readonly read: number; readonly isBound: boolean }> {
  const steps = stepsOf(pipeline, taskOperators);
  checkColumns(pipeline, steps, rows);
  const result = await runTaskPipeline(rows, {
    steps,
    fields: fieldsOf(pipeline, rows, taskset),
    weights: pipeline.priorityWeights,
    topK: pipeline.topK,
    concurrency: pipeline.numProcess,
    signal,
  });
  return { ...result, read: rows.length, isBound: steps.some(asksModel) };
}

export const asksModel = ({ definition }: PipelineStep): boolean =>
  definition.auxiliaryModel !== undefined;
