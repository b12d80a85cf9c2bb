/** Finds the folders of runs below a folder. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { checkpointName, checkpointSteps } from '@trinity-rft/core/engine';
import { failureFile } from '@trinity-rft/launcher/files';
import { databasesIn, isThere } from '../../verify/folder.js';
import { isEvaluations } from '../../verify/stages.js';

/** Locations of the files of a run, or of one stage of it. */
export interface RunPlace {
  /** Unique id: the path relative to the served folder. */
  readonly id: string;
  readonly folder: string;
  readonly metricsFile: string;
  /** SQLite file of the run's experiences. */
  readonly database?: string;
  /**
   * Model folder with the tokenizer of the recorded experiences.
   * @default the newest checkpoint with a tokenizer
   */
  readonly modelFolder?: string;
}

const deepest = 6;
const skipped = /^(?:node_modules|\..*|global_step_.*|tensorboard)$/;

export interface FoundRuns {
  /** Locations of the runs that changed last. */
  readonly places: readonly RunPlace[];
  /** Number of runs that are not in `places`. */
  readonly left: number;
}

/**
 * Finds runs. Does not follow symbolic links, which runs do not create.
 * @param most maximum number of locations to return
 */
export async function findRuns(root: string, most = 2000): Promise<FoundRuns> {
  const found: { readonly place: RunPlace; readonly changedAt: number }[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    const place = await placeOf(root, folder);
    if (place) found.push({ place, changedAt: await changedAt(place) });
    if (depth === deepest) return;
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries)
      if (entry.isDirectory() && !skipped.test(entry.name))
        await look(path.join(folder, entry.name), depth + 1);
  };
  await look(root, 0);
  const newest = found.toSorted((a, b) => b.changedAt - a.changedAt).slice(0, most);
  return { places: newest.map(({ place }) => place), left: found.length - newest.length };
}

const changedAt = async ({ metricsFile, database }: RunPlace): Promise<number> => {
  const files = database === undefined ? [metricsFile] : [metricsFile, database];
  const times = files.map((file) => stat(file).catch(() => undefined));
  return Math.max(...(await Promise.all(times)).map((found) => found?.mtimeMs ?? 0));
};

/** Locations of a run's files; undefined if the folder does not belong to a run. */
async function placeOf(root: string, folder: string): Promise<RunPlace | undefined> {
  if (await isServer(folder)) return undefined;
  const metricsFile = path.join(folder, 'monitor', 'metrics.jsonl');
  const database = await databaseOf(root, folder);
  const traces = [metricsFile, path.join(folder, failureFile)];
  if (database === undefined && !(await isAnyThere(traces))) return undefined;
  const below = path.relative(root, folder).split(path.sep).join('/');
  return { id: below === '' ? path.basename(folder) : below, folder, metricsFile, database };
}

/** Returns true for the folder `serve` in the folder of a run, in which a server keeps its log. */
async function isServer(folder: string): Promise<boolean> {
  if (path.basename(folder) !== 'serve') return false;
  const ofRun = ['stage_meta.json', 'monitor', 'buffer'];
  return isAnyThere(ofRun.map((name) => path.join(path.dirname(folder), name)));
}

/**
 * Returns the path of the run's experience store; of several stores, the first by name. Ignores
 * `experiences.db` of `trinity debug`, unless the folder is the served folder itself.
 */
async function databaseOf(root: string, folder: string): Promise<string | undefined> {
  const answers = path.join(folder, 'experiences.db');
  const isOfRun = folder === root || (await isEvaluations(folder));
  if (isOfRun && (await isThere(answers))) return answers;
  return (await databasesIn(folder))[0];
}

const isAnyThere = async (files: readonly string[]): Promise<boolean> =>
  (await Promise.all(files.map(isThere))).includes(true);

/** Model folder of the records: the given folder, or the newest checkpoint with a tokenizer. */
export async function tokenizerFolder({
  folder,
  modelFolder,
}: RunPlace): Promise<string | undefined> {
  if (modelFolder !== undefined) return modelFolder;
  if (await isEvaluations(folder)) return newestTokenizer(path.dirname(folder));
  return newestTokenizer(folder);
}

async function newestTokenizer(folder: string): Promise<string | undefined> {
  const steps = await checkpointSteps(folder);
  for (const step of steps.toReversed()) {
    const checkpoint = path.join(folder, checkpointName(step));
    if (await isThere(path.join(checkpoint, 'tokenizer.json'))) return checkpoint;
  }
  return undefined;
}
