/** Derives the state of a run from the files of its folder. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { tryJson } from '@trinity-rft/core/support';
import { readEnd } from '@trinity-rft/launcher/files';
import { runningPid } from '../../verify/folder.js';
import { isLatestStage, readSettings } from '../../verify/stages.js';
import type { RunSummary } from '../interface/types.js';
import { failureOf } from './failure.js';

export interface RunState {
  readonly state: RunSummary['state'];
  readonly pid?: number;
  readonly failure?: string;
  /** Time at which a file of the run was last written. */
  readonly changedAt: number;
}

/**
 * Maximum age in ms of the last write for which a run on other machines is considered live. Its
 * processes write at least this often while they work.
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
  const job = await jobFolder(folder);
  const pid = await runningPid(job);
  const isLatest = job === folder || (await isLatestStage(job, folder));
  const common = { failure, changedAt: changed };
  if (pid !== undefined && isLatest)
    return { ...common, state: 'running', pid, failure: undefined };
  if (!isLatest) return { ...common, state: 'finished' };
  if (failure !== undefined) return { ...common, state: 'failed' };
  if (Date.now() - changed < recentMs && (await isThere(path.join(job, 'run.db'))))
    return { ...common, state: 'running' };
  return { ...common, state: await endOf(job) };
}

/** Files that mark the folder of a run. */
const filesOfRun = ['stage_meta.json', 'settings.json', 'run.lock'] as const;

/**
 * Folder of the run to which a folder of a stage belongs. If neither the folder nor its parent has
 * the files of a run, the folder is considered the run.
 */
export async function jobFolder(folder: string): Promise<string> {
  for (const place of [folder, path.dirname(folder)])
    for (const name of filesOfRun) if (await isThere(path.join(place, name))) return place;
  return folder;
}

/**
 * State of the latest stage of a run that has ended. `stage_meta.json` has the number of completed
 * stages, and `settings.json` the stages that have begun. A run that was extended and then
 * interrupted may have completed all stages before, so the recorded end takes precedence.
 */
async function endOf(job: string): Promise<RunState['state']> {
  const text = await readFile(path.join(job, 'stage_meta.json'), 'utf8').catch(() => undefined);
  const meta = tryJson(text) as { readonly latest_stage: number } | null | undefined;
  if (meta == null) return 'unknown';
  if ((await readEnd(job))?.how === 'interrupted') return 'stopped';
  const begun = (await readSettings(job))?.stages.length ?? 1;
  return meta.latest_stage >= begun ? 'finished' : 'stopped';
}

/**
 * Time of the last write. Empty files do not count, because reading a database creates an empty log
 * next to it.
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
