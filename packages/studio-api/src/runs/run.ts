/** One run, open for reading. */
import path from 'node:path';
import { createMetricFile, type MetricFile } from '../metrics/metric-file.js';
import type { RunSummary } from '../interface/types.js';
import { within } from '../shared/within.js';
import { openRollouts, type Rollouts } from '../rollouts/rollouts.js';
import { readNotes } from './notes.js';
import { tokenizerFolder, type RunPlace } from './place.js';
import { noProgress, progressOf } from './progress.js';
import { settingsOf } from './settings.js';
import { stateOf } from './state.js';

export interface Run {
  readonly place: RunPlace;
  readonly metrics: MetricFile;
  /** As it is now; reads what was added since the last call. */
  summary(): Promise<RunSummary>;
  /** Undefined when nothing was recorded. @throws BufferError when it cannot be read */
  rollouts(): Promise<Rollouts | undefined>;
  close(): void;
}

/** A large file, or a slow disk, does not hold up the list of all runs. */
const summaryMs = 250;

export function createRun(place: RunPlace): Run {
  const metrics = createMetricFile(place.metricsFile);
  let opened: Promise<Rollouts> | undefined;
  let store: Rollouts | undefined;
  let progress = noProgress;
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    await metrics.catchUp();
    progress = await progressOf(metrics, await settingsOf(place.folder));
  };
  const rollouts = async (): Promise<Rollouts | undefined> => {
    if (place.database === undefined) return undefined;
    opened ??= openStore(place, place.database);
    try {
      return (store = await opened);
    } catch (error) {
      // It may be there the next time.
      opened = undefined;
      throw error;
    }
  };
  return {
    place,
    metrics,
    rollouts,
    summary: async () => {
      looking ??= look().finally(() => (looking = undefined));
      await within(summaryMs, looking);
      const files = [place.metricsFile, place.database, place.database && `${place.database}-wal`];
      const there = files.filter((file) => file !== undefined);
      const { state, pid, failure, changedAt } = await stateOf(place.folder, there);
      const recorded = await rollouts().catch(() => undefined);
      return {
        id: place.id,
        folder: place.folder,
        state,
        pid,
        failure,
        changedAt,
        ...progress,
        rollouts: recorded?.count(),
        hasMetrics: metrics.roles.size > 0,
        notes: await readNotes(place.folder),
      };
    },
    close: () => {
      store?.close();
      [store, opened] = [undefined, undefined];
    },
  };
}

async function openStore(place: RunPlace, database: string): Promise<Rollouts> {
  const logFile = path.join(place.folder, 'log', 'trinity.log');
  return openRollouts({ database, modelFolder: await tokenizerFolder(place), logFile });
}
