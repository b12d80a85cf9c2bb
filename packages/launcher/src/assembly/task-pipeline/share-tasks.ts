/** Shares tasks with explorers through the run store. The trainer's process makes the tasks. */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { StageConfig } from '@trinity-rft/config';
import { BufferError, CancelledError } from '@trinity-rft/core';
import type { Membership, RunStore } from '@trinity-rft/core/store';
import { replaceFile } from '@trinity-rft/core/support';
import { digestOf, pipelineFolder, readingFrom, tasksFile, withTasksets } from './stored-tasks.js';

/**
 * Weight version under which the run store keeps the tasks. The store deletes files of versions
 * below the newest weights. Weights never reach this version, so the tasks are kept for the whole
 * training run.
 */
const ofTheRun = 2 ** 31 - 1;

const listPath = 'task_pipeline/list.json';
const pathOf = (name: string): string => `task_pipeline/${name}.jsonl`;

/** Digest of the tasks of each task set, by the name of the set. */
type SharedTasks = Readonly<Record<string, string>>;

/**
 * Writes the tasks to the store, and the list of their digests last. If the list is in the store,
 * so are all tasks.
 */
export async function shareTasks(
  stage: StageConfig,
  { store, member }: { readonly store: RunStore; readonly member: Membership },
): Promise<void> {
  if (stage.dataProcessor.taskPipeline === undefined) return;
  const digests: Record<string, string> = {};
  for (const { name } of stage.buffer.explorerInput.tasksets) {
    const bytes = await readFile(tasksFile(pipelineFolder(stage), name));
    digests[name] = digestOf(bytes.toString());
    await store.putWeightFile(member, { version: ofTheRun, path: pathOf(name), bytes });
  }
  const bytes = Buffer.from(JSON.stringify(digests satisfies SharedTasks));
  await store.putWeightFile(member, { version: ofTheRun, path: listPath, bytes });
}

/** Returns true if the tasks are in the store. Explorers may then already have read the tasks. */
export const areShared = async (store: RunStore): Promise<boolean> =>
  (await store.getWeightFile(ofTheRun, listPath)) !== undefined;

export interface FetchOptions {
  readonly store: Pick<RunStore, 'getWeightFile' | 'waitForChange'>;
  /** A folder that only this explorer uses. */
  readonly folder: string;
  readonly lookEveryMs: number;
  /** Calls `work`, and reports this process as waiting until `work` ends. */
  readonly wait: <T>(work: () => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

/**
 * Returns the explorer's stage, with its task sets replaced by the tasks that the trainer's pipeline
 * has made. Waits until these tasks are in the store.
 * @throws BufferError when the tasks in the store differ from their digests; CancelledError if the
 * signal aborts
 */
export async function withFetchedTasks(
  stage: StageConfig,
  options: FetchOptions,
): Promise<StageConfig> {
  if (stage.dataProcessor.taskPipeline === undefined) return stage;
  const shared = await options.wait(() => untilShared(options));
  const tasksets = [];
  for (const taskset of stage.buffer.explorerInput.tasksets) {
    const file = await fetchTasks(taskset.name, shared, options);
    tasksets.push(readingFrom(taskset, file));
  }
  return withTasksets(stage, tasksets);
}

async function untilShared({ store, signal, lookEveryMs }: FetchOptions): Promise<SharedTasks> {
  for (;;) {
    const list = await store.getWeightFile(ofTheRun, listPath);
    if (list) return JSON.parse(Buffer.from(list).toString()) as SharedTasks;
    await store.waitForChange(lookEveryMs, signal).catch(() => undefined);
    if (signal.aborted)
      throw new CancelledError('Stopped while waiting for the tasks of the task pipeline.', {
        reason: 'shutdown',
        cause: signal.reason,
      });
  }
}

async function fetchTasks(
  name: string,
  shared: SharedTasks,
  { store, folder }: FetchOptions,
): Promise<string> {
  const bytes = await store.getWeightFile(ofTheRun, pathOf(name));
  const text = Buffer.from(bytes ?? []).toString();
  if (bytes === undefined || digestOf(text) !== shared[name])
    throw new BufferError(
      `The tasks of "${name}" in the store of the run are not those that the trainer's task pipeline made. Give both processes the same task sets, and start the trainer again: it stores them anew.`,
      { code: 'TASKS_DIFFER' },
    );
  const file = tasksFile(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await replaceFile(file, text);
  return file;
}
