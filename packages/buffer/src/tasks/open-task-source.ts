/**
 * Opens a task set by its path: a file, a folder in Hugging Face `datasets` layout, a dataset on
 * the hub, or a database.
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  TrinityError,
  type Clock,
  type RawTask,
  CancelledError,
  systemClock,
  TaskError,
} from '@trinity-rft/core';
import type { TaskSource } from '@trinity-rft/core/store';
import { redactText } from '@trinity-rft/core/support';
import { chooseDataFiles, type DataFilesRequest } from '../files/data-files.js';
import { readDatasetCard } from '../files/dataset-card.js';
import { listFolder, readText } from '../hub/hub-cache.js';
import type { Environment } from '../hub/hub-access.js';
import { fetchHubFiles } from '../hub/hub.js';
import { readJsonFile } from '../files/json-file.js';
import { readParquetFile } from '../files/parquet-file.js';
import { parseSplit, slicePart } from '../files/splits.js';
import { withNestedColumns } from './nested-columns.js';
import { readSqlRows, type SqlRowsOptions } from './sql-rows.js';
import { createTaskSource, type TaskOrderOptions } from './task-source.js';

export interface TaskRowsOptions extends Pick<SqlRowsOptions, 'table' | 'query'> {
  /** Name of the task set, used in messages. */
  readonly name: string;
  /**
   * `sql` if `path` is a database: `sqlite:///file.db` or `postgresql://host/database`.
   * @default "file"
   */
  readonly storageType?: 'file' | 'sql';
  /**
   * A file (.jsonl, .json, .parquet, also .gz), a folder, or a hub id (`openai/gsm8k`). Local files
   * and folders take precedence.
   */
  readonly path: string;
  /**
   * Split, in the notation of `datasets.load_dataset`: `train`, `test[:100]`, `train+test`. A
   * single file contains the rows of every split.
   * @default "train"
   */
  readonly split?: string;
  /**
   * Columns that may be nested in others, such as `reward_model.ground_truth`.
   * @default no columns
   */
  readonly columns?: readonly (string | undefined)[];
  /** Subset, as in `datasets.load_dataset`: a name in the README, or a folder. */
  readonly subsetName?: string;
  /** Cache folder for hub datasets. @default the cache of `huggingface_hub` */
  readonly cacheDirectory?: string;
  readonly signal?: AbortSignal;
  /**
   * Environment variables. HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE and those that determine the cache
   * folder are read.
   * @default process.env
   */
  readonly environment?: Environment;
  /** Maximum time in milliseconds without progress before a download fails. @default 60000 */
  readonly stallMs?: number;
  /**
   * Receives log lines about downloads, waits and files that are not read. @default standard error
   */
  readonly report?: (line: string) => void;
  /** Clock by which downloads and waits time out. @default the system clock */
  readonly clock?: Clock;
}

export interface TaskSourceOptions extends TaskRowsOptions, TaskOrderOptions {}

/**
 * Opens a task set. Reads all rows into memory, so that a damaged file is reported before training
 * starts.
 * @throws TaskError if the task set cannot be read; the message names the file and the position in
 * it
 * @throws CancelledError if `signal` aborts
 */
export async function openTaskSource(options: TaskSourceOptions): Promise<TaskSource> {
  return createTaskSource(await readTaskRows(options), options);
}

/**
 * Reads all rows of a task set, in the order of its files.
 * @throws TaskError if the task set cannot be read or has no rows; CancelledError if `signal`
 * aborts
 */
export async function readTaskRows(options: TaskRowsOptions): Promise<readonly RawTask[]> {
  const { name, path, signal, columns = [] } = options;
  try {
    const rows =
      options.storageType === 'sql' ? await readSqlRows(options) : await readSplits(options);
    if (rows.length > 0) return withNestedColumns(rows, columns);
  } catch (cause) {
    if (TrinityError.is(cause)) throw cause;
    if (signal?.aborted)
      throw new CancelledError(`Reading task set "${name}" was cancelled.`, {
        code: 'TASKSET_CANCELLED',
        reason: 'aborted',
        cause,
      });
    throw new TaskError(
      redactText(`Task set "${name}" (${path}) cannot be read: ${(cause as Error).message}.`),
      { code: 'TASKSET_UNREADABLE', cause },
    );
  }
  const where = redactText(path);
  throw new TaskError(`Task set "${name}" (${where}) holds no rows; expected at least one.`, {
    code: 'TASKSET_EMPTY',
    details: { path: where },
  });
}

async function readSplits(options: TaskRowsOptions): Promise<readonly RawTask[]> {
  const files = new Map<string, readonly RawTask[]>();
  const rows: RawTask[] = [];
  const { report = (line) => void process.stderr.write(`${line}\n`) } = options;
  const reported = new Set<string>();
  const reportOnce = (line: string): void => {
    if (!reported.has(line)) report(line);
    reported.add(line);
  };
  for (const part of parseSplit(options.split ?? 'train')) {
    const ofSplit: RawTask[] = [];
    for (const file of await locateFiles({ ...options, report }, part.split, reportOnce)) {
      // A file that several parts of the split use is read only once.
      const read = files.get(file) ?? (await readFileRows(file, options.signal));
      files.set(file, read);
      for (const row of read) ofSplit.push(row);
    }
    for (const row of slicePart(ofSplit, part)) rows.push(row);
  }
  return rows;
}

async function locateFiles(
  options: TaskRowsOptions & Pick<DataFilesRequest, 'report'>,
  split: string,
  reportOnce: DataFilesRequest['report'],
): Promise<readonly string[]> {
  const local = resolve(options.path);
  const found = await stat(local).catch(() => undefined);
  if (found?.isFile()) return [local];
  const choose = (paths: readonly string[], readme: string, where: string): readonly string[] =>
    chooseDataFiles(paths, {
      where,
      split,
      subsetName: options.subsetName,
      card: readDatasetCard(readme),
      report: reportOnce,
    } satisfies DataFilesRequest);
  if (found?.isDirectory()) {
    const readme = (await readText(join(local, 'README.md'))) ?? '';
    return choose(await listFolder(local), readme, local).map((file) => join(local, file));
  }
  if (!isHubId(options.path)) {
    throw new TaskError(
      `Task set "${options.name}": ${local} does not exist. Expected a file, a folder, or the id of a Hugging Face dataset (owner/name).`,
      { code: 'TASKSET_MISSING', details: { path: local } },
    );
  }
  return fetchHubFiles({
    id: options.path,
    cacheDirectory: options.cacheDirectory,
    environment: options.environment ?? process.env,
    clock: options.clock ?? systemClock,
    stallMs: options.stallMs ?? 60_000,
    signal: options.signal,
    report: options.report,
    choose: (paths, readme) => choose(paths, readme, options.path),
  });
}

/**
 * Returns true if the path has the form `owner/name` and does not end with the extension of a data
 * file.
 */
const isHubId = (path: string): boolean =>
  /^\w[\w.-]*\/\w[\w.-]*$/.test(path) && !/\.(?:jsonl?|ndjson|parquet|csv|gz)$/i.test(path);

async function readFileRows(
  path: string,
  signal: AbortSignal | undefined,
): Promise<readonly RawTask[]> {
  if (/\.parquet$/i.test(path)) return readParquetFile(path);
  if (/\.(?:jsonl|ndjson|json)(?:\.gz)?$/i.test(path)) return readJsonFile(path, signal);
  const remedy = /\.(?:csv|ya?ml)(?:\.gz)?$/i.test(path)
    ? ` This writes such a file: npx trinity import ${path} -o tasks.jsonl`
    : '';
  throw new TaskError(
    `${path} is not a supported kind of file. Expected .jsonl, .json (both also .gz) or .parquet.${remedy}`,
    { code: 'TASKSET_FORMAT', details: { path } },
  );
}
