/** Opens a run for reading. */
import { withReader } from '@trinity-rft/buffer';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { createMetricFile, type MetricFile } from '../metrics/metric-file.js';
import type { RunSummary } from '../interface/types.js';
import { isEvaluations } from '../../verify/stages.js';
import { whenChanged } from '../shared/when-changed.js';
import { within } from '../shared/within.js';
import { openRollouts, type Rollouts } from '../rollouts/rollouts.js';
import { readNotes } from './notes.js';
import { tokenizerFolder, type RunPlace } from './place.js';
import { noProgress, progressOf } from './progress.js';
import { settingsFiles, settingsOf } from './settings.js';
import { jobFolder, stateOf } from './state.js';
import { totalReader, type TotalReader } from './total-steps.js';

export interface Run {
  readonly place: RunPlace;
  readonly metrics: MetricFile;
  /**
   * Current summary; reads the lines that were added since the last call.
   * @param mostMs timeout in ms, after which the numbers are those of an earlier call, so that a
   * large file or a slow disk does not delay the list of runs. @default 250
   */
  summary(mostMs?: number): Promise<RunSummary>;
  /**
   * Opens the recorded experiences. Returns undefined if there are none. Opens them again if their
   * file was replaced, as by another run with the same name.
   * @throws BufferError when the store cannot be read
   */
  rollouts(): Promise<Rollouts | undefined>;
  close(): void;
}

export function createRun(place: RunPlace): Run {
  const metrics = createMetricFile(place.metricsFile);
  let store: { readonly rollouts: Rollouts; readonly inode: number } | undefined;
  let progress = noProgress;
  let looking: Promise<void> | undefined;
  const storeFiles = place.database === undefined ? [] : [place.database, `${place.database}-wal`];
  const recorded = whenChanged(storeFiles, () => countRecorded(place.database));
  const readTotal = totalReader(() => jobFolder(place.folder));
  // Evaluations have the settings of the run, but do not take its steps.
  const totalOf: TotalReader = async (...run) =>
    (await isEvaluations(place.folder)) ? { of: 'explorer' } : readTotal(...run);
  let isBoth = false;
  const read = whenChanged([place.metricsFile, ...settingsFiles(place.folder)], async () => {
    await metrics.catchUp();
    const settings = await settingsOf(place.folder);
    isBoth = settings['mode'] === 'both';
    return progressOf(metrics, settings, totalOf);
  });
  const look = async (): Promise<void> => {
    progress = await read();
  };
  const rollouts = async (): Promise<Rollouts | undefined> => {
    if (place.database === undefined) return undefined;
    // An open file keeps its inode, so that no other file can have it.
    const inode = (await stat(place.database).catch(() => undefined))?.ino;
    if (store?.inode !== inode) close();
    if (inode === undefined) return undefined;
    store ??= { rollouts: openStore(place, place.database), inode };
    return store.rollouts;
  };
  const close = (): void => {
    store?.rollouts.close();
    store = undefined;
  };
  return {
    place,
    metrics,
    rollouts,
    summary: async (mostMs = 250) => {
      looking ??= look().finally(() => (looking = undefined));
      // If the metrics cannot be read, requests for metrics report the reason.
      await within(mostMs, looking).catch(() => false);
      const files = [place.metricsFile, ...storeFiles];
      const { state, pid, failure, changedAt } = await stateOf(place.folder, files);
      const { steps, trainStep } = progress;
      // A run that ended before its first train step has done nothing, although it explored.
      const isUntrained = isBoth && state !== 'running' && trainStep === undefined;
      return {
        id: place.id,
        folder: place.folder,
        state,
        pid,
        failure,
        changedAt,
        ...progress,
        steps: steps && isUntrained ? { ...steps, done: 0 } : steps,
        modelCalls: await recorded().catch(() => undefined),
        hasMetrics: metrics.roles.size > 0,
        notes: await readNotes(place.folder),
      };
    },
    close,
  };
}

/**
 * Number of recorded model calls. Closes the store again, so that a list of many runs does not keep
 * all stores open.
 */
const countRecorded = (database: string | undefined): number | undefined =>
  database === undefined ? undefined : withReader(database, (reader) => reader.count());

function openStore(place: RunPlace, database: string): Rollouts {
  const logFile = path.join(place.folder, 'log', 'trinity.log');
  return openRollouts({ database, modelFolder: () => tokenizerFolder(place), logFile });
}
