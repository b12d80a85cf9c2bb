/**
 * Checks the rows, models and tokenizers that a configuration names, as far as possible without
 * starting the training run. `trinity config check`, `trinity config plan` and every training run
 * use these checks.
 */
import type {
  ConfigProblem,
  LoadedConfig,
  GraderPlan,
  PipelinePlan,
  ProblemAt,
  StageConfig,
  TasksetConfig,
} from '@trinity-rft/config';
import { describeDropped } from '@trinity-rft/buffer/internal';
import {
  configError,
  diskAt,
  readModelFolder,
  sortProblems,
  trainStepsOf,
  weightsProblem,
} from '@trinity-rft/config/internal';
import { renderProblem } from '@trinity-rft/config';
import {
  ConfigError,
  describeError,
  type RawTask,
  BufferError,
  CheckpointError,
  EngineError,
  TaskError,
} from '@trinity-rft/core';
import type { ModelCheck } from '@trinity-rft/core/engine';
import { toTask } from '@trinity-rft/explorer';
import { withReader } from '@trinity-rft/buffer';
import type { ChatFormat } from '@trinity-rft/chat';
import { sourceOf } from '../assembly/data/check-rows.js';
import { checkExperts } from '../assembly/data/sample-strategy.js';
import { checkTasks, readTaskset, tasksetsOf, type Reading } from '../assembly/data/tasks.js';
import { checkTrainingData } from '../assembly/data/training-data.js';
import { readChatFormat } from '../assembly/models/chat-format.js';
import { checkCritic } from '../assembly/models/critic.js';
import { engineNamed } from '../assembly/models/engines.js';
import { withCachedModels } from '../assembly/models/hub-models.js';
import { variablesOf } from '../assembly/environment.js';
import { unmetNeeds } from '../assembly/needs.js';
import { storedTasks, tryPipeline } from '../assembly/task-pipeline/steps.js';
import {
  digestOfRows,
  pipelineFolder,
  readingFrom,
  readTaskList,
  tasksFile,
} from '../assembly/task-pipeline/stored-tasks.js';
import { withRecordedDevices } from './changes/devices.js';
import { inputsOf, type Inputs } from './changes/inputs.js';
import { areGuests } from './folders.js';
import { describeChanges, describeInputs, isRecorded, recordedInputs } from './changes/resume.js';
import { firstOpenStage, hasBegun, readStageProgress } from './progress.js';
import { promptWarning } from './measure-prompts.js';
import type { Extensions } from '../context/stage-context.js';

export type Checkable = Pick<LoadedConfig, 'config'> & Partial<Pick<LoadedConfig, 'problemAt'>>;

export interface CheckOptions {
  /** First stage to check. @default 0 */
  readonly from?: number;
  /**
   * True to also check what a training run measures when it starts: the prompt of the first
   * generated task of each environment, and the lengths of supervised rows.
   * @default false
   */
  readonly measure?: boolean;
  /** Environment variables, including the API keys of services. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface CheckedFiles {
  /** Warnings as lines of text, each with its place in the configuration file. */
  readonly warnings: readonly string[];
  /** The same warnings as structured data. */
  readonly warningProblems: readonly ConfigProblem[];
  /** For each checked stage: numbers of rows, by the name of the task set or data set. */
  readonly rows: readonly Readonly<Record<string, number>>[];
  /** For each checked stage: the effect of its task pipeline. */
  readonly pipelines: readonly (readonly PipelinePlan[])[];
  /** For each checked stage: the grader of each task set that has a choice of graders. */
  readonly graders: readonly (readonly GraderPlan[])[];
  /** For each checked stage: digests of rows, keyed by the setting that names the rows. */
  readonly digests: readonly Readonly<Record<string, string>>[];
}

/**
 * Checks the files that a configuration names.
 * @throws ConfigError with every problem found, each with its place in the configuration file
 */
export async function checkFiles(
  { config, problemAt = inNoFile }: Checkable,
  extensions: Extensions,
  { from = 0, measure = false, env = process.env, signal }: CheckOptions,
): Promise<CheckedFiles> {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const rows: Readonly<Record<string, number>>[] = [];
  const pipelines: PipelinePlan[][] = [];
  const graders: GraderPlan[][] = [];
  const digests: Record<string, string>[] = [];
  const readChat = chatReader();
  for (const stage of withCachedModels(config, env).stages.slice(from)) {
    const at = (key: KeyPath, message: string): ConfigProblem =>
      problemAt(stage.stageIndex, key, message);
    const check: Check = {
      stage,
      readChat,
      pipelines: [],
      digests: {},
      hasBegun: isRecorded(config, stage),
      recorded: recordedInputs(config, stage),
      measure,
      extensions,
      signal,
      env: variablesOf(stage, env),
      report: (key, message) => void problems.push(at(key, message)),
      warn: (key, message) => void warnings.push(at(key, message)),
    };
    rows.push({ ...(await checkTasksets(check)), ...(await checkRows(check)) });
    graders.push([...gradersOf(check)]);
    await attempt(check, ['buffer', 'trainer_input', 'experience_buffer', 'path'], async () =>
      checkStored(check),
    );
    await checkModels(check);
    for (const { key, message } of await unmetNeeds({ stage, extensions, env, signal }))
      check.report(key, message);
    if (measure && problems.length === 0) await measurePrompts(check);
    pipelines.push(check.pipelines);
    digests.push(check.digests);
  }
  if (problems.length > 0) throw configError(problems);
  const said = sortProblems(warnings);
  return {
    warnings: said.map(renderProblem),
    warningProblems: said,
    rows,
    pipelines,
    graders,
    digests,
  };
}

/**
 * Returns one line for each setting and file that has changed since the training run was last
 * started. Returns no lines if all stages are benchmarks or belong to an explorer,
 * because these do not write the training run's record.
 * @param options `digests`: result of `checkFiles`; `env`: environment variables, which may
 * determine the path of the model cache. @default process.env
 * @throws ConfigError with the changes that prevent the training run from continuing
 */
export async function checkResume(
  { config: given, problemAt = inNoFile }: Checkable,
  { pluginFiles: plugins }: Pick<Extensions, 'pluginFiles'>,
  { digests, env = process.env }: Pick<CheckedFiles, 'digests'> & Pick<CheckOptions, 'env'>,
): Promise<readonly string[]> {
  const config = withRecordedDevices(withCachedModels(given, env));
  const { jobDirectory, stages } = config;
  const { latestStage } = await readStageProgress(jobDirectory);
  if (areGuests(stages)) return [];
  const from = firstOpenStage(stages, latestStage);
  const begun = await hasBegun(jobDirectory);
  const lines = [...describeChanges({ config, from, hasBegun: begun, problemAt })];
  for (const stage of stages.slice(from)) {
    const before = recordedInputs(config, stage);
    const rows = digests[stage.stageIndex];
    if (before === undefined || rows === undefined) continue;
    const inputs = await inputsOf(stage, { rows, plugins, cwd: '.', before });
    lines.push(...describeInputs({ config, stage, inputs, isAccepted: false, problemAt }));
  }
  return lines;
}

type KeyPath = readonly (string | number)[];

/** Creates a problem without a position, for a configuration that was not read from a file. */
export const inNoFile: ProblemAt = (_stage, key, message) => ({
  file: 'configuration',
  line: 0,
  column: 0,
  key: key.join('.'),
  message,
});

interface Check extends Reading {
  readonly hasBegun: boolean;
  /** Inputs when the stage was last started. */
  readonly recorded: Inputs | undefined;
  readonly measure: boolean;
  /** Plans of the stage's task pipelines. The check adds them to this list. */
  readonly pipelines: PipelinePlan[];
  /** Digests of rows, keyed by the setting that names the rows. */
  readonly digests: Record<string, string>;
  readonly stage: StageConfig;
  readonly extensions: Extensions;
  readonly readChat: ReadChat;
  readonly report: (key: KeyPath, message: string) => void;
  readonly warn: (key: KeyPath, message: string) => void;
}

/** Returns a key as a string, such as `buffer.explorer_input.tasksets[0].path`. */
const nameOf = (key: KeyPath): string =>
  key
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);

function addDigest({ digests, recorded }: Check, key: KeyPath, rows: readonly RawTask[]): void {
  const name = nameOf(key);
  digests[name] = digestOfRows(rows, recorded?.[name]?.sha256);
}

/**
 * Returns the result of `work`. Reports an error that the user can fix at the configuration key
 * `key`, and returns undefined. Rethrows other errors.
 */
async function attempt<T>(
  { report }: Check,
  key: KeyPath,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const isTheirs = [TaskError, ConfigError, CheckpointError, EngineError, BufferError].some(
      (kind) => error instanceof kind,
    );
    if (!isTheirs) throw error;
    report(key, describeError(error));
    return undefined;
  }
}

/** Calls `work`. Adds the folder to the message of an error that does not name it. */
async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const isTheirs = cause instanceof ConfigError || cause instanceof TaskError;
    if (!isTheirs || cause.message.includes(folder)) throw cause;
    throw new ConfigError(`${folder}: ${cause.message}`, { code: cause.code, cause });
  }
}

type ReadChat = typeof readChatFormat;

/**
 * Returns a function that reads chat formats and caches them, because several stages may have the
 * same model and settings.
 */
function chatReader(): ReadChat {
  const found = new Map<string, ReturnType<ReadChat>>();
  return (folder, { chatTemplate, toolCallParser, toolPrompt, reasoningParser }) => {
    const settings = { chatTemplate, toolCallParser, toolPrompt, reasoningParser };
    const key = JSON.stringify([folder, settings]);
    const format = found.get(key) ?? inFolder(folder, () => readChatFormat(folder, settings));
    found.set(key, format);
    return format;
  };
}

async function checkTasksets(check: Check): Promise<Readonly<Record<string, number>>> {
  const { stage, extensions } = check;
  const { tasksets } = stage.buffer.explorerInput;
  const { taskPipeline } = stage.dataProcessor;
  const counts: Record<string, number> = {};
  for (const { taskset, place } of tasksetsOf(stage)) {
    const { name, isEval } = taskset;
    const isMade = !isEval && taskPipeline !== undefined;
    const key =
      isMade && taskPipeline.inputs.length > 0
        ? ['data_processor', 'task_pipeline', 'inputs']
        : [...place, 'path'];
    const read = await attempt(check, key, () =>
      isEval ? readTaskset(taskset, extensions, check) : readToLearn(check, taskset),
    );
    if (!read) continue;
    for (const { key, message } of read.problems) check.report([...place, ...key], message);
    for (const { key, message } of read.warnings) check.warn([...place, ...key], message);
    counts[isEval ? `eval/${name}` : name] = read.rows.length;
    // The tasks of a pipeline are stored in the training run's folder, so they need no digest.
    if (!isMade) addDigest(check, [...place, 'path'], read.rows);
    if (read.problems.length === 0) await checkFirstRow(check, place, { taskset, rows: read.rows });
  }
  if (tasksets.length > 0)
    checkSteps(
      check,
      tasksets.map(({ name }) => counts[name]),
    );
  return counts;
}

/**
 * Checks that the workflow can attempt the first row, which may have been generated for another
 * environment.
 */
async function checkFirstRow(
  check: Check,
  place: KeyPath,
  { taskset, rows }: { readonly taskset: TasksetConfig; readonly rows: readonly RawTask[] },
): Promise<void> {
  const [rawTask] = rows;
  const { workflow = '', isEval } = taskset;
  const definition = check.extensions.workflows.find(workflow);
  if (rawTask === undefined || definition?.checkRow === undefined) return;
  const task = toTask({ row: 0, rawTask }, taskset, { batchId: 0, taskId: 0, isEval });
  const models = check.stage.explorer.auxiliaryModels.map(({ name }) => name);
  const key = [...place, 'path'];
  const row = `row 0 of ${sourceOf(taskset)}`;
  const warn = (message: string): void => check.warn(key, `${row} was not checked: ${message}`);
  await attempt(check, key, () =>
    inFolder(row, async () => definition.checkRow?.(task, check.signal, models, warn)),
  );
}

/**
 * Reports environments that cannot be opened, and warns if the prompt of the first generated task is
 * too long: every rollout of such a task fails.
 */
async function measurePrompts(check: Check): Promise<void> {
  const { stage, extensions, signal, warn } = check;
  if (!isThere(stage.model.modelPath)) return;
  const seen = new Set<string>();
  for (const { taskset, place } of tasksetsOf(stage)) {
    const played = JSON.stringify([taskset.workflow, taskset.workflowArgs, taskset.format]);
    if (taskset.storageType !== 'generated' || seen.has(played)) continue;
    seen.add(played);
    const { rows } = await readTaskset({ ...taskset, taskCount: 1 }, extensions, check);
    const [row = {}] = rows;
    const ofArgs = [...place, 'workflow_args', 'environment_args'];
    const warning = await attempt(check, ofArgs, () =>
      promptWarning({ stage, taskset, row, extensions, signal }),
    );
    if (warning === undefined) continue;
    warn(warning.about === 'environment_args' ? ofArgs : ['model', warning.about], warning.message);
  }
}

function* gradersOf({ stage, extensions, warn }: Check): Generator<GraderPlan> {
  const models = stage.explorer.auxiliaryModels.map(({ name }) => name);
  for (const { taskset, place } of tasksetsOf(stage)) {
    const { name, workflow = '', workflowArgs, rewardFnArgs } = taskset;
    const definition = extensions.workflows.find(workflow);
    const grader = definition?.grader?.(workflowArgs, { models, rewardFnArgs });
    if (grader === undefined) continue;
    if (grader.warning !== undefined)
      warn([...place, 'workflow_args'], `${workflow} ${grader.warning}`);
    yield { taskset: name, grader: grader.text };
  }
}

/**
 * Reads the tasks that the pipeline yields: the stored tasks, otherwise those that it yields
 * without model calls.
 */
async function readToLearn(
  check: Check,
  taskset: TasksetConfig,
): Promise<Awaited<ReturnType<typeof readTaskset>>> {
  const { stage, extensions, pipelines, hasBegun } = check;
  const { taskPipeline } = stage.dataProcessor;
  if (taskPipeline === undefined) return readTaskset(taskset, extensions, check);
  const { name } = taskset;
  const folder = pipelineFolder(stage);
  const list = await readTaskList(folder, name);
  const { kept, origin } = await storedTasks(check, taskPipeline, { taskset, list, hasBegun });
  if (!origin) {
    pipelines.push({ taskset: name, ...kept, isBound: false });
    return readTaskset(readingFrom(taskset, tasksFile(folder, name)), extensions, check);
  }
  const { taskOperators } = extensions;
  const { rows, ...tried } = await tryPipeline(taskPipeline, origin, taskOperators, check);
  const { read, isBound } = tried;
  const dropped = describeDropped(tried.dropped);
  pipelines.push({ taskset: name, read, kept: rows.length, dropped, isBound });
  return { ...checkTasks(rows, taskset, extensions), rows };
}

/**
 * Checks that the tasks suffice for the configured numbers of steps.
 * @param counts number of tasks of each set; undefined for a set that could not be read
 */
function checkSteps(check: Check, counts: readonly (number | undefined)[]): void {
  const { stage, report } = check;
  const { batchSize, totalEpochs, totalSteps, trainBatch } = stage.buffer;
  const tasks = counts.reduce<number>((sum, count) => sum + (count ?? Number.NaN), 0);
  if (totalSteps === undefined && tasks * totalEpochs < batchSize)
    report(
      ['buffer', 'batch_size'],
      `got ${batchSize}, but the task sets hold ${tasks} tasks, which in ${totalEpochs} epochs do not fill one explore step. Lower it, or raise total_epochs.`,
    );
  const { experienceBuffer } = stage.buffer.trainerInput;
  // With replay, the number of train steps depends on time.
  if (experienceBuffer.storageType !== 'file' && experienceBuffer.replay) return;
  const exploreSteps = totalSteps ?? Math.floor((tasks * totalEpochs) / batchSize);
  const steps = trainStepsOf(trainBatch, exploreSteps) ?? Infinity;
  const sizes = `${tasks} tasks, ${totalEpochs} epochs, ${batchSize} tasks in an explore step`;
  checkBound(check, steps, `the tasks end after ${steps} train steps: ${sizes}`);
}

/** Warns if the run ends after `steps` train steps, before `trainer.total_steps`. */
function checkBound({ stage, warn }: Check, steps: number, dataEnds: string): void {
  const { totalSteps } = stage.buffer;
  const bound = stage.trainer.totalSteps;
  if (bound === undefined || steps >= bound) return;
  const why =
    totalSteps === undefined
      ? `${dataEnds}. Set buffer.total_steps, which wins over total_epochs.`
      : `the run ends after ${steps} train steps: buffer.total_steps is ${totalSteps}. Raise buffer.total_steps.`;
  warn(['trainer', 'total_steps'], `got ${bound}, but ${why}`);
}

/**
 * Checks supervised data and expert data. Returns the number of supervised rows, by the name of the
 * data set.
 */
async function checkRows(check: Check): Promise<Readonly<Record<string, number>>> {
  const { stage } = check;
  const input = ['buffer', 'trainer_input'];
  const place = [...input, 'experience_buffer', 'path'];
  const model = check.measure ? await startOf(check) : undefined;
  const rows = await attempt(check, place, () => checkTrainingData(stage, check, model));
  if (rows) checkTrainSteps(check, rows.length);
  const experts = await attempt(check, [...input, 'auxiliary_buffers'], () =>
    checkExperts(stage, check),
  );
  if (rows) addDigest(check, place, rows);
  if (experts) addDigest(check, [...input, 'auxiliary_buffers', 'path'], experts);
  return rows ? { [stage.buffer.trainerInput.experienceBuffer.name]: rows.length } : {};
}

/**
 * Returns the model that encodes rows, or undefined if it is not on this disk or cannot be used.
 */
async function startOf({ stage, readChat }: Check) {
  const { modelPath: startModel } = stage.model;
  if (!isThere(startModel)) return undefined;
  const format = await readChat(startModel, stage.explorer.rolloutModel).catch(() => undefined);
  return format && { startModel, format };
}

/** Checks that the rows of supervised data suffice for the configured numbers of steps. */
function checkTrainSteps(check: Check, rows: number): void {
  const { stage, report } = check;
  const { totalEpochs, totalSteps, trainBatchSize } = stage.buffer;
  const steps = totalSteps ?? Math.floor((rows * totalEpochs) / trainBatchSize);
  if (steps === 0)
    return report(
      ['buffer', 'train_batch_size'],
      `got ${trainBatchSize}, but the data set holds ${rows} rows, which in ${totalEpochs} epochs do not fill one train step. Lower it, or raise total_epochs.`,
    );
  const sizes = `${rows} rows, ${totalEpochs} epochs, ${trainBatchSize} rows in a train step`;
  checkBound(check, steps, `the rows end after ${steps} train steps: ${sizes}`);
}

/**
 * Warns if the stored experiences are too few for the configured steps, unless replay may use them
 * again.
 */
function checkStored({ stage, warn }: Check): void {
  const { trainerInput, totalSteps, totalEpochs, trainBatchSize } = stage.buffer;
  const { experienceBuffer } = trainerInput;
  if (stage.mode !== 'train' || experienceBuffer.storageType === 'file') return;
  const { path, replay } = experienceBuffer;
  if (replay?.reuseCooldownMs !== undefined) return;
  const uses = replay ? 1 : totalEpochs;
  const wanted = stage.trainer.totalSteps ?? totalSteps;
  if (path === undefined || wanted === undefined || !isThere(path)) return;
  const count = withReader(path, (reader) => reader.ids().length);
  const most = Math.ceil((count * uses) / trainBatchSize);
  const times = uses === 1 ? 'once' : `${uses} times`;
  if (most < wanted)
    warn(
      stage.trainer.totalSteps === undefined
        ? ['buffer', 'total_steps']
        : ['trainer', 'total_steps'],
      `got ${wanted}, but ${path} holds ${count} experiences, which are trained on ${times}: enough for ${most} steps at most, unless a server still adds to them. Training ends with them.`,
    );
}

/**
 * Checks the models of a stage. If the stage starts from a checkpoint of an earlier stage, checks
 * the model from which that stage starts, because its tokenizer and shape are the same.
 */
async function checkModels(check: Check): Promise<void> {
  const { model, engine, explorer } = check.stage;
  checkHubModel(check);
  await checkModel(check, ['model', 'model_path'], { ...model, engine });
  const { rolloutModel } = explorer;
  await attempt(check, ['model', 'model_path'], async () => {
    if (!isThere(model.modelPath)) return;
    const format = await check.readChat(model.modelPath, rolloutModel);
    checkVocabulary(check, ['model', 'model_path'], { folder: model.modelPath, format });
    checkParser(check, ['explorer', 'rollout_model'], {
      ...rolloutModel,
      modelPath: model.modelPath,
      format,
    });
  });
  await attempt(check, ['model', 'critic_model_path'], () =>
    checkCritic(check.stage, check.extensions.engines),
  );
  for (const [index, auxiliary] of explorer.auxiliaryModels.entries()) {
    const { source } = auxiliary;
    if (source.kind !== 'folder') continue;
    const key = ['explorer', 'auxiliary_models', index, 'model_path'];
    await checkModel(check, key, source);
    await attempt(check, key, async () => {
      const { modelPath: folder } = source;
      if (!isThere(folder)) return;
      const format = await check.readChat(folder, auxiliary);
      checkVocabulary(check, key, { folder, format });
      checkParser(check, key.slice(0, -1), { ...auxiliary, modelPath: folder, format });
    });
  }
}

interface ParserChoice {
  readonly modelPath: string;
  readonly format: ChatFormat;
  readonly toolCallParser: string | undefined;
  readonly toolPrompt: string | undefined;
}

/** Warns of a tool-call parser whose calls the chat template does not ask for. */
function checkParser(
  { warn }: Check,
  section: KeyPath,
  { modelPath, format, toolCallParser: parser, toolPrompt }: ParserChoice,
): void {
  if (parser === undefined) return;
  const key = [...section, 'tool_call_parser'];
  const at = nameOf(section);
  if (!format.printsTools) {
    warn(
      key,
      `got ${parser}, but the chat template of ${modelPath} has no place for tools, so requests with tools are refused. Set ${at}.tool_prompt: generic instead, or use a chat template with tools.`,
    );
    return;
  }
  const fitting = toolPrompt === undefined ? format.fittingToolCallParser() : undefined;
  if (parser !== 'auto' && fitting !== undefined && fitting !== parser)
    warn(
      key,
      `got ${parser}, but the chat template of ${modelPath} has calls in the syntax of ${fitting}. Calls that ${parser} does not read stay in the text, and no tool runs. Use ${fitting}, or auto.`,
    );
}

/**
 * Compares the ids of the tokenizer with the embeddings. Reports the ids that end a turn and those
 * of a prompt, and warns of the others. Other special tokens are ignored, because tokenizers of
 * published models have some for images.
 */
function checkVocabulary(
  check: Check,
  key: KeyPath,
  { folder, format }: { readonly folder: string; readonly format: ChatFormat },
): void {
  const read = readModelFolder(diskAt('.'), folder);
  if (read.kind === 'problem') return;
  const { tokenizer, stopTokenIds } = format;
  const { vocabSize } = read.shape;
  const needed = [...stopTokenIds.slice(0, 1), ...emptyPrompt(format)];
  const added = Array.from(
    { length: Math.max(0, tokenizer.vocabularySize - vocabSize) },
    (_, i) => vocabSize + i,
  ).filter((id) => tokenizer.idToToken(id) !== undefined && !tokenizer.specialTokenIds.has(id));
  const ids = new Set([...needed, ...stopTokenIds, ...added]);
  const lost = [...ids].filter((id) => id >= vocabSize);
  const [worst] = lost;
  if (worst === undefined) return;
  const say = needed.includes(worst) ? check.report : check.warn;
  const token = tokenizer.idToToken(worst);
  const name = token === undefined ? '' : ` (${JSON.stringify(token)})`;
  say(
    key,
    `got ${folder}, whose tokenizer and generation_config.json have ids without an embedding, such as ${worst}${name}, ${lost.length} in all: vocab_size of the model is ${vocabSize}. Texts with such a token can be neither trained nor answered. Give the model its own tokenizer and generation_config.json.`,
  );
}

/** Returns the ids of the prompt of an empty message, or none if the template refuses it. */
function emptyPrompt(format: ChatFormat): Iterable<number> {
  try {
    return format.encode(format.render({ messages: [{ role: 'user', content: '' }] }));
  } catch {
    return [];
  }
}

/**
 * Reports problems with the quantised weights of a hub model and with the layers of its adapter.
 * They can only be detected once the model is in the cache.
 */
function checkHubModel({ stage, report }: Check): void {
  const { hubId, lora } = stage.model;
  if (hubId === undefined) return;
  if (lora && lora.path === undefined && lora.targetModules.length === 0)
    report(
      ['model', 'lora_configs', 0, 'exclude_modules'],
      `excludes every layer of ${hubId}. Name fewer layers, or remove the key.`,
    );
  const problem = weightsProblem(stage, diskAt('.'));
  if (problem) report(problem.key, problem.message);
}

interface CheckedModel extends Omit<ModelCheck, 'device'> {
  readonly engine: string;
  readonly device?: StageConfig['model']['device'];
}

async function checkModel(
  check: Check,
  key: KeyPath,
  { modelPath, engine, maxModelLen, device: given }: CheckedModel,
): Promise<void> {
  if (!isThere(modelPath)) return;
  // `auto` uses the CPU if the GPU cannot run the model, so a check for the CPU suffices.
  const device = given === 'auto' ? 'cpu' : given;
  await attempt(check, key, async () =>
    engineNamed(check.extensions.engines, engine).checkModel?.({ modelPath, maxModelLen, device }),
  );
}

/** True for a folder or file on this disk, as opposed to a hub id. */
const isThere = (path: string): boolean => diskAt('.').kind(path) !== undefined;
