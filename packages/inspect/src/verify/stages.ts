/** Finds the stages of a run in the order in which they ran. */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { tryJson } from '@trinity-rft/core/support';
import { evaluationsName } from '@trinity-rft/launcher/files';

/** Settings of a stage, keyed by the path of the setting. */
type StageSettings = Readonly<Record<string, unknown>>;

interface RecordedSettings {
  readonly jobDirectory: string;
  /** Settings of the stages that have begun, in their order. */
  readonly stages: readonly StageSettings[];
}

/** Reads `settings.json` of a run. Returns undefined if the folder has no valid file. */
export async function readSettings(jobDirectory: string): Promise<RecordedSettings | undefined> {
  const file = path.join(jobDirectory, 'settings.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const recorded = tryJson(text) as Partial<RecordedSettings> | null | undefined;
  return Array.isArray(recorded?.stages) ? (recorded as RecordedSettings) : undefined;
}

/**
 * Returns true for the folder of the evaluations of a run. A run of this name has settings of its
 * own; evaluations have those of their run, one level up.
 */
export const isEvaluations = async (folder: string): Promise<boolean> =>
  path.basename(folder) === evaluationsName && (await readSettings(folder)) === undefined;

/**
 * Returns the folder of the run that a stage belongs to, and the settings with which the stage was
 * last started. Returns undefined if none are recorded. The folder of a stage is inside the folder
 * of its run.
 */
export async function stageSettings(
  folder: string,
): Promise<{ readonly jobDirectory: string; readonly stage: StageSettings } | undefined> {
  const recorded = await settingsOfRun(folder);
  if (!recorded) return undefined;
  const { jobDirectory, stages } = recorded;
  const stage = stages.length === 1 ? stages[0] : stageNamed(stages, folder);
  return stage && { jobDirectory, stage };
}

/**
 * Returns the settings of the stage in a folder. If the folder is not that of a recorded stage, for
 * example that of evaluations, returns the settings of the stage that began last. Returns an empty
 * object if none are recorded.
 */
export async function stageOrLatest(folder: string): Promise<StageSettings> {
  const stages = (await settingsOfRun(folder))?.stages ?? [];
  return stageNamed(stages, folder) ?? stages.at(-1) ?? {};
}

const stageNamed = (stages: readonly StageSettings[], folder: string): StageSettings | undefined =>
  stages.find(({ stage_name: name }) => name === path.basename(folder));

const settingsOfRun = async (folder: string): Promise<RecordedSettings | undefined> =>
  (await readSettings(folder)) ?? (await readSettings(path.dirname(folder)));

/**
 * Returns the subfolders of a run: first the recorded stages, in the order in which they ran, then
 * all others. The others are ordered by the creation time of their logs, and those without a log
 * come first. Copying a run changes these times.
 */
export async function stageFolders(jobDirectory: string): Promise<readonly string[]> {
  const recorded = await stageNames(jobDirectory);
  const entries = await readdir(jobDirectory, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isDirectory())
      .map(async ({ name }) => ({
        folder: path.join(jobDirectory, name),
        rank: recorded.includes(name) ? recorded.indexOf(name) : recorded.length,
        at: await creationOf(path.join(jobDirectory, name, 'log', 'trinity.log')),
      })),
  );
  return found
    .toSorted((a, b) => a.rank - b.rank || a.at - b.at || (a.folder < b.folder ? -1 : 1))
    .map(({ folder }) => folder);
}

/** True if `folder` is the stage of the run that began last. */
export async function isLatestStage(jobDirectory: string, folder: string): Promise<boolean> {
  const recorded = (await stageNames(jobDirectory)).at(-1);
  return recorded === undefined
    ? (await stageFolders(jobDirectory)).at(-1) === folder
    : recorded === path.basename(folder);
}

/** Names of the stages that have begun, in their order; empty if none are recorded. */
async function stageNames(jobDirectory: string): Promise<readonly string[]> {
  const { stages = [] } = (await readSettings(jobDirectory)) ?? {};
  return stages.flatMap(({ stage_name: name }) => (typeof name === 'string' ? [name] : []));
}

const creationOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ birthtimeMs }) => birthtimeMs,
    () => 0,
  );
