/**
 * Executes the task pipeline of a stage once. A resumed training run keeps the tasks that it began
 * with.
 */
import {
  runTaskPipeline,
  type PipelineProgress,
  type Question,
} from '@trinity-rft/buffer/internal';
import { openTogether } from '@trinity-rft/core/support';
import type { StageConfig, TaskPipelineConfig, TasksetConfig } from '@trinity-rft/config';
import { type Runtime, TaskError } from '@trinity-rft/core';
import { toTask } from '@trinity-rft/explorer';
import type { Extensions } from '../../context/stage-context.js';
import type { Reading } from '../data/tasks.js';
import { openAuxiliaryModels, type AuxiliaryModels } from '../models/auxiliary-models.js';
import { openEndpoint } from '../models/endpoint.js';
import { asksModel, checkColumns, fieldsOf, stepsOf, storedTasks, type Origin } from './steps.js';
import {
  digestOf,
  openAnswers,
  pipelineFolder,
  readingFrom,
  readTaskList,
  tasksFile,
  withTasksets,
  writeTasks,
  type Answers,
  type Rows,
} from './stored-tasks.js';

/** Inputs that the pipeline needs to make tasks. */
export interface Making extends Reading {
  readonly stage: StageConfig;
  readonly extensions: Extensions;
  readonly runtime: Runtime;
  /** Writes a line to the console and the log. */
  readonly say: (line: string) => void;
}

/**
 * Returns the stage, with its task sets replaced by the tasks that its pipeline has made. Executes
 * the pipeline if there are no stored tasks, or if settings or rows have changed and the training
 * run has not begun.
 * @param hasBegun true if an earlier process has started the steps of the stage
 * @throws TaskError if the tasks cannot be made, or a training run would continue with other tasks;
 * CancelledError if the signal aborts
 */
export async function withMadeTasks(making: Making, hasBegun: boolean): Promise<StageConfig> {
  const { stage, say } = making;
  const { taskPipeline } = stage.dataProcessor;
  const folder = pipelineFolder(stage);
  const tasksets: TasksetConfig[] = [];
  for (const taskset of stage.buffer.explorerInput.tasksets) {
    const { name } = taskset;
    const before = await readTaskList(folder, name);
    if (hasBegun && (before === undefined) === (taskPipeline !== undefined))
      throw otherTasks(name, before !== undefined);
    if (taskPipeline === undefined) continue;
    const stored = { taskset, list: before, hasBegun };
    const { kept, origin } = await storedTasks(making, taskPipeline, stored);
    if (origin) {
      if (before)
        say(`The task pipeline or its rows have changed: the tasks of "${name}" are made anew.`);
      await make(making, taskPipeline, origin);
    } else say(`Task set "${name}": ${kept.kept} of ${kept.read} tasks, made when the run began.`);
    tasksets.push(readingFrom(taskset, tasksFile(folder, name)));
  }
  return taskPipeline === undefined ? stage : withTasksets(stage, tasksets);
}

const otherTasks = (name: string, had: boolean): TaskError =>
  new TaskError(
    `The run began with${had ? '' : 'out'} a task pipeline, so task set "${name}" would now hold other tasks. ${had ? 'Set data_processor.task_pipeline again' : 'Remove data_processor.task_pipeline'}, or give the new run another name.`,
    { code: 'TASKS_CHANGED' },
  );

async function make(
  making: Making,
  pipeline: TaskPipelineConfig,
  { taskset, rows, digest }: Origin,
): Promise<void> {
  const { stage, extensions, signal, runtime, say } = making;
  const { name } = taskset;
  const steps = stepsOf(pipeline, extensions.taskOperators);
  checkColumns(pipeline, steps, rows);
  const folder = pipelineFolder(stage);
  const run = (ask: Asking | undefined) =>
    runTaskPipeline(rows, {
      steps,
      fields: fieldsOf(pipeline, rows, taskset),
      weights: pipeline.priorityWeights,
      topK: pipeline.topK,
      concurrency: pipeline.numProcess,
      ask: ask?.ask,
      onProgress: progressLog(say, name),
      signal: ask?.signal ?? signal,
    });
  const result = steps.some(asksModel)
    ? await asking(making, { taskset, rows, answers: await openAnswers(folder, name) }, run)
    : await run(undefined);
  const made = await writeTasks(folder, name, { result, read: rows.length, settings: digest });
  const left = `Task pipeline of "${name}": ${made.kept} of ${made.read} tasks are left.`;
  say(made.dropped === '' ? left : `${left} Left out: ${made.dropped}.`);
  if (result.unordered > 0)
    runtime.logger.warn(
      `Task pipeline of "${name}": ${result.unordered} tasks lack a number that priority_weights names; they come last.`,
    );
}

/**
 * Logs the progress ten times per pass over the tasks, but at most once per 100 tasks, and at the
 * end.
 */
const progressLog =
  (say: Making['say'], name: string) =>
  ({ operator, done, of, failed }: PipelineProgress): void => {
    const step = Math.max(100, Math.ceil(of / 10));
    if (done % step !== 0 && done !== of) return;
    const failures = failed === 0 ? '' : `, ${failed} calls of its model failed`;
    say(`Task pipeline of "${name}": ${operator} ${done} of ${of}${failures}.`);
  };

interface Asking {
  readonly ask: (question: Question) => Promise<string>;
  readonly signal: AbortSignal;
}

interface Asked {
  readonly taskset: TasksetConfig;
  readonly rows: Rows;
  readonly answers: Answers;
}

/**
 * Calls `work` with a function that asks the auxiliary models, which it opens and closes. @throws
 * the error of an engine that has failed
 */
function asking<T>(
  { stage, extensions, runtime, signal: interrupt }: Making,
  asked: Asked,
  work: (asking: Asking) => Promise<T>,
): Promise<T> {
  return openTogether(async (stack) => {
    const endpoint = stack.use(await openEndpoint(runtime));
    const { engines } = extensions;
    const models = stack.use(await openAuxiliaryModels(stage, runtime, engines, endpoint));
    const signal = AbortSignal.any([interrupt, models.failed]);
    /** Number of answers that the token limit has cut off, by operator. */
    const cut = new Map<string, number>();
    const onCut = (operator: string): void => void cut.set(operator, (cut.get(operator) ?? 0) + 1);
    try {
      const ask = (question: Question): Promise<string> =>
        answer(question, { ...asked, stage, models, signal, onCut });
      return await work({ ask, signal });
    } catch (error) {
      if (models.failed.aborted) throw models.failed.reason;
      throw error;
    } finally {
      for (const [operator, count] of cut)
        runtime.logger.warn(
          `Task pipeline of "${asked.taskset.name}": ${count} answers to ${operator} were cut off at the token limit of the model, which may be before their grade. Raise max_tokens in the args of the operator, or where it has none max_response_tokens of the auxiliary model.`,
        );
      await stack.close();
    }
  });
}

interface AskParts extends Asked {
  readonly stage: StageConfig;
  readonly models: AuxiliaryModels;
  readonly signal: AbortSignal;
  /** Called with the name of the operator after an answer that the token limit has cut off. */
  readonly onCut: (operator: string) => void;
}

async function answer(
  { step, row, call, messages, options }: Question,
  { taskset, rows, answers, stage, models, signal, onCut }: AskParts,
): Promise<string> {
  const { auxiliaryModels } = stage.explorer;
  const named = step.args[step.definition.auxiliaryModel ?? ''];
  const model = auxiliaryModels.find(({ name }) => named === undefined || name === named);
  if (!model)
    throw new TaskError(
      `Task operator "${step.definition.name}" asks the model ${JSON.stringify(named)}, which explorer.auxiliary_models does not have.`,
      { code: 'TASK_MODEL' },
    );
  const key = digestOf(
    JSON.stringify([model.name, model.source.modelPath, messages, options, call]),
  );
  const known = answers.get(key);
  if (known !== undefined) return known;
  const over = new AbortController();
  try {
    const ends = AbortSignal.any([signal, over.signal]);
    const place = { batchId: `task_pipeline/${taskset.name}`, taskId: row, isEval: false };
    const task = toTask({ row, rawTask: rows[row] ?? {} }, taskset, place);
    const attempt = { task, run: call, attempt: 0, signal: ends };
    const asked = models.models(attempt, new Set()).get(model.name);
    const [response] = (await asked?.chat(messages, { ...options, signal: ends })) ?? [];
    const text = response?.responseText ?? '';
    if (response?.finishReason === 'length') onCut(step.definition.name);
    await answers.add(key, text);
    return text;
  } finally {
    over.abort();
  }
}
