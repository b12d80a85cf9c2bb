/** Checks the files of a job, and writes the configuration of its training run. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { checkGraderRow, type GraderSpec, modelsOfGrader } from '@trinity-rft/workflow/reward';
import type { BaseModels, ModelSettings } from '../store/base-models.js';
import type { FileStore } from '../store/files.js';
import type { JobError, JobRecord, JobStore } from '../store/jobs.js';
import type { Hyperparameters, JobMethod } from '../wire/job-request.js';
import { configurationText, stepsOf } from './configuration.js';
import { checkRows, writePairs } from './rows.js';
import { baseRate, resolveHyperparameters } from './settings.js';

export interface PrepareContext {
  readonly jobs: JobStore;
  readonly files: FileStore;
  readonly models: BaseModels;
  /** Folder that contains the training runs of all jobs. */
  readonly runs: string;
  readonly pythonGraders: boolean;
}

/**
 * Result of the preparation. If the files are valid, it contains the changes to the job's record;
 * otherwise, the job's error.
 */
export type Prepared =
  | { readonly changes: Pick<JobRecord, 'method' | 'steps'>; readonly error?: undefined }
  | { readonly error: JobError };

export const configurationOf = (jobs: JobStore, id: string): string =>
  path.join(jobs.folderOf(id), 'config.yaml');

export async function prepareJob(job: JobRecord, context: PrepareContext): Promise<Prepared> {
  const { jobs, files, models } = context;
  const { type } = job.method;
  const settings = settingsOf(job, models, jobs);
  if (!settings) return { error: modelGone(job.model, 'model') };
  const grader = job.method.type === 'reinforcement' ? job.method.reinforcement.grader : undefined;
  const graders = grader === undefined ? [] : modelsOfGrader(grader);
  const gone = graders.find((name) => !models[name]);
  if (gone !== undefined) return { error: modelGone(gone, 'method.reinforcement.grader') };
  const training = files.pathOf(job.training_file);
  const checked = await checkFile('training_file', job.training_file, grader, job, context);
  if (checked.error) return checked;
  const validation = job.validation_file === null ? undefined : files.pathOf(job.validation_file);
  if (job.validation_file !== null) {
    const { error } = await checkFile('validation_file', job.validation_file, grader, job, context);
    if (error) return { error };
  }
  const numbers = resolveHyperparameters(hyperparametersOf(job.method), type, checked.count);
  const rows = { path: training, count: checked.count };
  if (type === 'dpo') {
    rows.path = path.join(jobs.folderOf(job.id), 'pairs.jsonl');
    await writePairs(training, rows.path);
  }
  const { runs, pythonGraders } = context;
  const plan = {
    job,
    settings,
    numbers,
    rows,
    runs,
    pythonGraders,
    baseRate: await baseRate(settings.model.model_path, type),
    validation: validation === undefined ? undefined : { path: validation },
    graderModels: Object.fromEntries(graders.map((name) => [name, models[name]!.model.model_path])),
  };
  await writeFile(configurationOf(jobs, job.id), configurationText(plan));
  return { changes: { method: withNumbers(job.method, numbers), steps: stepsOf(plan) } };
}

/** Maximum number of lines without a value for the grader that are listed. */
const mostUngradable = 5;

/**
 * Checks the rows of a file, and counts them. Rows without a value that the grader reads are an
 * error only if there are no others; otherwise, their lines are listed in an event, because only
 * their rollouts fail.
 */
async function checkFile(
  param: 'training_file' | 'validation_file',
  file: string,
  grader: GraderSpec | undefined,
  { id, method }: JobRecord,
  { jobs, files }: PrepareContext,
): Promise<{ readonly count: number; readonly error?: undefined } | { readonly error: JobError }> {
  const ungradable: string[] = [];
  const { count, faults } = await checkRows(files.pathOf(file), method.type, (row, line) => {
    try {
      if (grader) checkGraderRow(grader, row);
    } catch (error) {
      ungradable.push(`Line ${line}: ${describeError(error)}`);
    }
  });
  if (faults.length > 0) return faulty(param, file, faults);
  const listed = ungradable.slice(0, mostUngradable);
  if (ungradable.length === count) return faulty(param, file, listed);
  if (ungradable.length > 0) {
    const message = `${ungradable.length} of ${count} rows of ${file} cannot be graded; the rollouts of these tasks fail. ${listed.join(' ')}`;
    await jobs.say(id, { level: 'warn', message });
  }
  return { count };
}

const invalidJob = (message: string): JobError => ({ code: 'invalid_job', message, param: null });

/**
 * Converts the output of a failed `trinity config check` to the error of the job. The command
 * numbers rows of the training file from 0; the error names lines.
 */
export async function errorOfCheck(
  { training_file: file, method }: JobRecord,
  output: string,
  { files }: PrepareContext,
): Promise<JobError> {
  const found = [...output.matchAll(rowFault)];
  if (found.every(({ groups }) => groups?.['row'] === undefined)) return invalidJob(output);
  const lines: number[] = [];
  await checkRows(files.pathOf(file), method.type, (_, line) => void lines.push(line));
  const faults = found.map(
    ({ groups: { row, problem, more } = {} }) => more ?? `Line ${lines[Number(row)]}: ${problem}`,
  );
  return faulty('training_file', file, faults).error;
}

/** Message of a command about one row, or about the number of rows that it does not list. */
const rowFault =
  /Row (?<row>\d+) of (?:"rows"|task set "training")(?: \(.*?\)(?=:| cannot))?:? (?<problem>.*)$|^ *(?<more>\.{3} and \d+ more)$/gm;

/**
 * Returns the settings of the base model. If the job continues a trained model, `model_path` is its
 * checkpoint. Returns undefined if the model is no longer available: it was deleted after the job
 * was created, or the server was restarted with other models.
 */
function settingsOf(job: JobRecord, models: BaseModels, jobs: JobStore): ModelSettings | undefined {
  const base = models[job.model];
  if (base) return base;
  const trained = jobs.list().find((each) => job.model === trainedName(each));
  if (!trained?.checkpoint) return undefined;
  const settings = models[baseOf(trained.model)];
  return settings && { ...settings, model: { ...settings.model, model_path: trained.checkpoint } };
}

const modelGone = (model: string, param: string): JobError => ({
  code: 'model_not_available',
  message: `The model "${model}" is not here any more. Start the server with it, and create the job again.`,
  param,
});

/** Returns the name of the trained model, or undefined if the job has no trained model. */
export const trainedName = (job: JobRecord): string | undefined =>
  job.checkpoint === null || job.deleted ? undefined : modelName(job);

/** Returns the name that the trained model has or would have, `ft:MODEL:local:SUFFIX:ID`. */
export const modelName = ({ id, model, suffix }: JobRecord): string =>
  `ft:${baseOf(model)}:local:${suffix}:${id.slice(-8)}`;

/** Returns the name of a checkpoint without its train step. */
export const checkpointPrefix = (job: JobRecord): string => `${modelName(job)}:ckpt-step-`;

/**
 * Returns the name of a checkpoint. A checkpoint is served when it is saved, whatever the job does
 * later. Returns undefined if the trained model, and with it the checkpoint, was deleted.
 */
export const nameOfCheckpoint = (job: JobRecord, step: number): string | undefined =>
  job.deleted ? undefined : `${checkpointPrefix(job)}${step}`;

/**
 * Returns the base model from the name of a trained model, or the name itself if it is that of a
 * base model. Names of base models may contain colons.
 */
const baseOf = (model: string): string => /^ft:(.+):local:[^:]*:[^:]+$/.exec(model)?.[1] ?? model;

const faulty = (param: string, file: string, faults: readonly string[]) => ({
  error: {
    code: param === 'training_file' ? 'invalid_training_file' : 'invalid_validation_file',
    message: `The job failed due to an invalid ${param.replace('_', ' ')} ${file}. ${faults.join(' ')}`,
    param,
  },
});

export const hyperparametersOf = (method: JobMethod): Hyperparameters =>
  method.type === 'supervised'
    ? method.supervised.hyperparameters
    : method.type === 'dpo'
      ? method.dpo.hyperparameters
      : method.reinforcement.hyperparameters;

function withNumbers(method: JobMethod, numbers: Readonly<Record<string, number>>): JobMethod {
  const inner = method.type === 'reinforcement' ? { grader: method.reinforcement.grader } : {};
  return { type: method.type, [method.type]: { ...inner, hyperparameters: numbers } } as JobMethod;
}
