/** Runs the task pipeline of a stage, once; a run that continues has the tasks that it began with. */
import {
  runTaskPipeline,
  type PipelineProgress,
  type Question,
} from '@trinity-rft/buffer/internal';
import type { TaskPipelineConfig, TasksetConfig } from '@trinity-rft/config';
import { TaskError } from '@trinity-rft/core';
import { toTask } from '@trinity-rft/explorer';
import { openTogether } from '../../context/disposable.js';
import type { StageContext } from '../../context/stage-context.js';
import { openAuxiliaryModels, type AuxiliaryModels } from '../models/auxiliary-models.js';
import { openEndpoint } from '../models/endpoint.js';
import { asksModel, checkColumns, fieldsOf, readInputs, stepsOf } from './steps.js';
import {
  digestOf,
  openAnswers,
  pipelineFolder,
  readingFrom,
  readTaskList,
  settingsDigest,
  tasksFile,
  withTasksets,
  writeTasks,
  type Answers,
  type Rows,
  type TaskList,
} from './stored-tasks.js';

/**
 * The context of the stage, with the tasks that its pipeline makes, or has made.
 * @throws TaskError; CancelledError
 */
export async function withMadeTasks(context: StageContext): Promise<StageContext> {
  const { stage } = context;
  const { taskPipeline } = stage.dataProcessor;
  const folder = pipelineFolder(stage);
  const tasksets: TasksetConfig[] = [];
  for (const taskset of stage.buffer.explorerInput.tasksets) {
    const { name } = taskset;
    const before = await readTaskList(folder, name);
    if (context.hasBegun === true && (before === undefined) === (taskPipeline !== undefined))
      throw otherTasks(name, before !== undefined);
    if (taskPipeline !== undefined && !isUsable(before, context, taskset))
      await make(context, taskPipeline, taskset);
    tasksets.push(
      taskPipeline === undefined ? taskset : readingFrom(taskset, tasksFile(folder, name)),
    );
  }
  return taskPipeline === undefined
    ? context
    : { ...context, stage: withTasksets(stage, tasksets) };
}

const sayIn = ({ say, runtime }: StageContext): ((line: string) => void) =>
  say ?? ((line) => runtime.logger.info(line));

const otherTasks = (name: string, had: boolean): TaskError =>
  new TaskError(
    `The run began with${had ? '' : 'out'} a task pipeline, so task set "${name}" would now hold other tasks. ${had ? 'Set data_processor.task_pipeline again' : 'Remove data_processor.task_pipeline'}, or give the new run another name.`,
    { code: 'TASKS_CHANGED' },
  );

/** The tasks of a run that has begun stay, whatever has been set since. */
function isUsable(
  before: TaskList | undefined,
  context: StageContext,
  taskset: TasksetConfig,
): boolean {
  const { stage, hasBegun = false } = context;
  const say = sayIn(context);
  if (before === undefined) return false;
  const isSame = before.settings === settingsDigest(stage, taskset);
  if (!isSame && !hasBegun)
    say(`The task pipeline has changed: the tasks of "${taskset.name}" are made anew.`);
  else
    say(
      `Task set "${taskset.name}": ${before.kept} of ${before.read} tasks, made when the run began.`,
    );
  return isSame || hasBegun;
}

async function make(
  context: StageContext,
  pipeline: TaskPipelineConfig,
  taskset: TasksetConfig,
): Promise<void> {
  const { stage, signal, runtime } = context;
  const { name } = taskset;
  const rows = await readInputs(pipeline, taskset, signal);
  const steps = stepsOf(pipeline, context);
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
      onProgress: progressLog(context, name),
      signal: ask?.signal ?? signal,
    });
  const result = steps.some(asksModel)
    ? await asking(context, { taskset, rows, answers: await openAnswers(folder, name) }, run)
    : await run(undefined);
  const settings = settingsDigest(stage, taskset);
  const made = await writeTasks(folder, name, { result, read: rows.length, settings });
  const left = `Task pipeline of "${name}": ${made.kept} of ${made.read} tasks are left.`;
  sayIn(context)(made.dropped === '' ? left : `${left} Left out: ${made.dropped}.`);
  if (result.unordered > 0)
    runtime.logger.warn(
      `Task pipeline of "${name}": ${result.unordered} tasks lack a number that priority_weights names; they come last.`,
    );
}

/** Tenths, so that the log of a thousand tasks has ten lines per operator. */
function progressLog(context: StageContext, name: string) {
  const say = sayIn(context);
  return ({ operator, done, of, failed }: PipelineProgress): void => {
    const step = Math.max(100, Math.ceil(of / 10));
    if (done % step !== 0 && done !== of) return;
    const failures = failed === 0 ? '' : `, ${failed} calls of its model failed`;
    say(`Task pipeline of "${name}": ${operator} ${done} of ${of}${failures}.`);
  };
}

interface Asking {
  readonly ask: (question: Question) => Promise<string>;
  readonly signal: AbortSignal;
}

interface Asked {
  readonly taskset: TasksetConfig;
  readonly rows: Rows;
  readonly answers: Answers;
}

/** Auxiliary models that are open while `work` asks them. @throws what made an engine fail */
function asking<T>(
  context: StageContext,
  asked: Asked,
  work: (asking: Asking) => Promise<T>,
): Promise<T> {
  return openTogether(async (stack) => {
    const endpoint = stack.use(await openEndpoint(context));
    const models = stack.use(await openAuxiliaryModels(context, endpoint));
    const signal = AbortSignal.any([context.signal, models.failed]);
    try {
      const ask = (question: Question): Promise<string> =>
        answer(question, { ...asked, context, models, signal });
      return await work({ ask, signal });
    } catch (error) {
      if (models.failed.aborted) throw models.failed.reason;
      throw error;
    } finally {
      await stack.close();
    }
  });
}

interface AskParts extends Asked {
  readonly context: StageContext;
  readonly models: AuxiliaryModels;
  readonly signal: AbortSignal;
}

async function answer(
  { step, row, call, messages, options }: Question,
  { taskset, rows, answers, context, models, signal }: AskParts,
): Promise<string> {
  const { auxiliaryModels } = context.stage.explorer;
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
    await answers.add(key, text);
    return text;
  } finally {
    over.abort();
  }
}
