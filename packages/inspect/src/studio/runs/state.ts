/** Derives the state of a run from the files of its folder. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { tryJson } from '@trinity-rft/core/support';
import { readEnd } from '@trinity-rft/launcher/files';
import { failureOf, runningProcess } from '../../verify/folder.js';
import { isEvaluations, isLatestStage, readSettings } from '../../verify/stages.js';
import type { RunSummary } from '../interface/types.js';

export interface RunState {
  readonly state: RunSummary['state'];
  readonly pid?: number;
  readonly failure?: string;
  /** Time of the last write to a file of the run, in ms since the epoch. */
  readonly changedAt: number;
}

/**
 * Maximum time in ms since the last write for a run with processes on other machines to count as
 * running. Working processes write at least this often.
 */
const recentMs = 15_000;

/**
 * Derives the state of a run from the files in its folder.
 * @param files paths of the files that a run writes while it works
 */
export async function stateOf(folder: string, files: readonly string[]): Promise<RunState> {
  const times = await Promise.all(files.map(changedAt));
  // A run that failed early has only written its log.
  const changed = Math.max(...times) || (await folderChangedAt(folder));
  const failure = await failureOf(folder);
  if (failure === undefined && (await isEvaluations(folder))) {
    const { state } = await stateOf(path.dirname(folder), files);
    // The end of the run is not that of its evaluations, and its process is not theirs to stop.
    const hasEnded = state === 'failed' || state === 'stopped';
    return { state: hasEnded ? 'finished' : state, changedAt: changed };
  }
  const job = await jobFolder(folder);
  const pid = (await runningProcess(job))?.pid;
  const isLatest = job === folder || (await isLatestStage(job, folder));
  const common = { failure, changedAt: changed };
  if (pid !== undefined && isLatest)
    return { ...common, state: 'running', pid, failure: undefined };
  if (!isLatest) return { ...common, state: 'finished' };
  if (failure !== undefined) return { ...common, state: 'failed' };
  if (Date.now() - changed < recentMs && (await isThere(path.join(job, 'run.db'))))
    return { ...common, state: 'running' };
  const state = await endOf(job);
  if (state !== 'failed') return { ...common, state };
  return { ...common, state, failure: (await readEnd(job))?.error?.message };
}

/** Files that mark the folder of a run. */
const filesOfRun = ['stage_meta.json', 'settings.json', 'run.lock'] as const;

/**
 * Returns the folder of the run to which the folder of a stage belongs. Returns the given folder if
 * neither it nor its parent contains the files of a run.
 */
export async function jobFolder(folder: string): Promise<string> {
  for (const place of [folder, path.dirname(folder)])
    for (const name of filesOfRun) if (await isThere(path.join(place, name))) return place;
  return folder;
}

/**
 * Returns the state of the latest stage of a run without a process. A benchmark alone has no
 * `stage_meta.json`, only a recorded end. Otherwise, the stage is complete if `stage_meta.json`
 * counts as many completed stages as `settings.json` lists stages that have begun. A recorded
 * interruption takes precedence, because the interrupted continuation of a completed run leaves
 * this count unchanged.
 */
async function endOf(job: string): Promise<RunState['state']> {
  const text = await readFile(path.join(job, 'stage_meta.json'), 'utf8').catch(() => undefined);
  const meta = tryJson(text) as { readonly latest_stage: number } | null | undefined;
  const end = (await readEnd(job))?.how;
  if (end === 'interrupted') return 'stopped';
  if (meta == null) return end ?? 'unknown';
  const begun = (await readSettings(job))?.stages.length ?? 1;
  return meta.latest_stage >= begun ? 'finished' : 'stopped';
}

/**
 * Returns the time of the last write to a file, in ms since the epoch; 0 if there is no such file.
 * Also returns 0 for empty files, because opening a database for reading creates an empty log next
 * to it.
 */
const changedAt = (file: string): Promise<number> =>
  stat(file).then(
    ({ mtimeMs, size }) => (size === 0 ? 0 : mtimeMs),
    () => 0,
  );

/** Time of the last change of a folder; now if it was removed. */
const folderChangedAt = (folder: string): Promise<number> =>
  stat(folder).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );

const isThere = async (file: string): Promise<boolean> => (await changedAt(file)) > 0;
