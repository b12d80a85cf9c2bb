/** Reads and writes the files of tasks that a pipeline has made, in the stage's folder. */
import { createHash, hash } from 'node:crypto';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { serialize } from 'node:v8';
import type { StageConfig, TasksetConfig } from '@trinity-rft/config';
import { type RawTask, TaskError } from '@trinity-rft/core';
import { replaceFile, tryJson } from '@trinity-rft/core/support';
import type { PipelineResult } from '@trinity-rft/buffer/internal';
import { describeDropped } from '@trinity-rft/buffer/internal';

/**
 * Contents of `<name>.json`, which describes the tasks in `<name>.jsonl` and is written after that
 * file.
 */
export interface TaskList {
  /** SHA-256 of `<name>.jsonl`. */
  readonly sha256: string;
  /** Digest of the settings and rows from which the tasks were made. */
  readonly settings: string;
  /** Number of tasks before the pipeline; `kept` is the number after it. */
  readonly read: number;
  readonly kept: number;
  /** Summary that states the number of tasks that each operator removed, and the reasons. */
  readonly dropped: string;
}

export const pipelineFolder = ({ jobDirectory }: Pick<StageConfig, 'jobDirectory'>): string =>
  path.join(jobDirectory, 'task_pipeline');

export const tasksFile = (folder: string, name: string): string =>
  path.join(folder, `${name}.jsonl`);

const listFile = (folder: string, name: string): string => path.join(folder, `${name}.json`);

/**
 * Returns the digest of the settings and rows from which tasks are made.
 * @param recorded see `digestOfRows`
 */
export function originDigest(
  stage: StageConfig,
  { taskset, rows }: { readonly taskset: TasksetConfig; readonly rows: Rows },
  recorded: string | undefined,
): string {
  const { path: file, split, subsetName, table, query, format } = taskset;
  const { operators, inputs, targetFields, priorityWeights, topK } =
    stage.dataProcessor.taskPipeline ?? {};
  const models = stage.explorer.auxiliaryModels.map(({ name, source }) => [name, source.modelPath]);
  const { promptKey, responseKey } = format;
  const source = { file, split, subsetName, table, query, promptKey, responseKey };
  const made = { operators, inputs, targetFields, priorityWeights, topK };
  return acceptedDigest(recorded, (write) =>
    digestOf(JSON.stringify([source, made, models, hashRows(rows, write)])),
  );
}

/**
 * Returns a digest of rows that is the same in every JavaScript engine.
 * @param recorded digest when the run was last started. It is returned if it is of these rows in
 * the format of earlier versions, that of V8.
 */
export function digestOfRows(rows: Rows, recorded?: string): string {
  return acceptedDigest(recorded, (write) => hashRows(rows, write));
}

type WriteRow = (row: RawTask) => string | Buffer;

function hashRows(rows: Rows, write: WriteRow): string {
  const digest = createHash('sha256');
  for (const row of rows) digest.update(write(row));
  return digest.digest('hex');
}

function acceptedDigest(
  recorded: string | undefined,
  digestBy: (write: WriteRow) => string,
): string {
  const digest = digestBy((row) => JSON.stringify(row, withAllNumbers));
  if (recorded === undefined || recorded === digest) return digest;
  return digestBy(serialize) === recorded ? recorded : digest;
}

/** Replacer that keeps NaN and the infinities apart. */
const withAllNumbers = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;

export const digestOf = (text: string): string => hash('sha256', text, 'hex');

/**
 * Reads `<name>.json`. Returns undefined if no tasks are stored yet.
 * @throws TaskError if the files were changed after they were written
 */
export async function readTaskList(folder: string, name: string): Promise<TaskList | undefined> {
  const text = await readFile(listFile(folder, name), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const list = JSON.parse(text) as TaskList;
  const tasks = await readFile(tasksFile(folder, name), 'utf8').catch(() => '');
  if (digestOf(tasks) === list.sha256) return list;
  throw new TaskError(
    `${tasksFile(folder, name)} is not what the task pipeline wrote. Restore it, or delete the folder task_pipeline before the first step, or start a new run.`,
    { code: 'TASKS_CHANGED' },
  );
}

export async function writeTasks(
  folder: string,
  name: string,
  made: { readonly result: PipelineResult; readonly read: number; readonly settings: string },
): Promise<TaskList> {
  const { result, read, settings } = made;
  await mkdir(path.dirname(tasksFile(folder, name)), { recursive: true });
  const text = linesOf(result.rows);
  await replaceFile(tasksFile(folder, name), text);
  await replaceFile(path.join(folder, `${name}.dropped.jsonl`), linesOf(result.dropped));
  const list: TaskList = {
    sha256: digestOf(text),
    settings,
    read,
    kept: result.rows.length,
    dropped: describeDropped(result.dropped),
  };
  await replaceFile(listFile(folder, name), `${JSON.stringify(list, null, 2)}\n`);
  return list;
}

const linesOf = (items: readonly object[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('');

/**
 * Store of the models' responses to the questions of a pipeline. Each response is stored when it
 * arrives, so that a resumed pipeline does not ask the same questions again.
 */
export interface Answers {
  get(question: string): string | undefined;
  add(question: string, answer: string): Promise<void>;
}

export async function openAnswers(folder: string, name: string): Promise<Answers> {
  const file = path.join(folder, `${name}.answers.jsonl`);
  await mkdir(path.dirname(file), { recursive: true });
  const text = await readFile(file, 'utf8').catch(() => '');
  const known = new Map(text.split('\n').flatMap(readAnswer));
  // A killed process may have written an incomplete line.
  if (text !== '' && !text.endsWith('\n')) await writeFile(file, `${text}\n`);
  return {
    get: (question) => known.get(question),
    add: (question, answer) => {
      known.set(question, answer);
      return appendFile(file, `${JSON.stringify([question, answer])}\n`);
    },
  };
}

function readAnswer(line: string): readonly (readonly [string, string])[] {
  const answer = tryJson(line) as [string, string] | null | undefined;
  return answer ? [answer] : [];
}

/** Returns the task set, with `file` as the source of its rows. */
export const readingFrom = (taskset: TasksetConfig, file: string): TasksetConfig => ({
  ...taskset,
  storageType: 'file',
  path: file,
  isLocal: true,
  split: 'train',
  subsetName: undefined,
  table: undefined,
  query: undefined,
});

/** Returns the stage without its task pipeline, and with `tasksets` as the task sets to explore. */
export const withTasksets = (
  stage: StageConfig,
  tasksets: readonly TasksetConfig[],
): StageConfig => ({
  ...stage,
  dataProcessor: { ...stage.dataProcessor, taskPipeline: undefined },
  buffer: { ...stage.buffer, explorerInput: { ...stage.buffer.explorerInput, tasksets } },
});

export type Rows = readonly RawTask[];
