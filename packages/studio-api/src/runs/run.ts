/** One run, open for reading. */
import path from 'node:path';
import { createMetricFile, type MetricFile } from '../metrics/metric-file.js';
import { finite, sparklineOf } from '../metrics/curve.js';
import type { MetricInfo, RunSummary } from '../interface/types.js';
import { openRollouts, type Rollouts } from '../rollouts/rollouts.js';
import { readNotes } from './notes.js';
import { tokenizerFolder, type RunPlace } from './place.js';
import { stateOf } from './state.js';

export interface Run {
  readonly place: RunPlace;
  readonly metrics: MetricFile;
  /** As it is now; reads what was added since the last call. */
  summary(): Promise<RunSummary>;
  metricList(): readonly MetricInfo[];
  /** Undefined when nothing was recorded. @throws BufferError when it cannot be read */
  rollouts(): Promise<Rollouts | undefined>;
  close(): void;
}

const sparklineLength = 60;

export function createRun(place: RunPlace): Run {
  const metrics = createMetricFile(place.metricsFile);
  let opened: Promise<Rollouts> | undefined;
  let store: Rollouts | undefined;
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
      await metrics.catchUp();
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
        ...progressOf(metrics),
        rollouts: recorded?.count(),
        hasMetrics: metrics.roles.size > 0,
        notes: await readNotes(place.folder),
      };
    },
    metricList: () => listOf(metrics),
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

function progressOf({
  roles,
}: MetricFile): Pick<
  RunSummary,
  'exploreStep' | 'trainStep' | 'version' | 'reward' | 'sparkline' | 'secondsPerStep'
> {
  const explorer = roles.get('explorer');
  const trainer = roles.get('trainer');
  const stepOf = (table: typeof explorer): number | undefined =>
    table === undefined || table.lines === 0 ? undefined : table.steps.at(table.lines - 1);
  const reward =
    explorer?.metrics.get('rollout/reward/mean') ?? trainer?.metrics.get('critic/score/mean');
  const table = explorer?.metrics.has('rollout/reward/mean') === true ? explorer : trainer;
  return {
    exploreStep: stepOf(explorer),
    trainStep: stepOf(trainer),
    version: explorer?.metrics.get('rollout/model_version')?.last,
    reward: reward?.last,
    sparkline: reward && table ? [...sparklineOf(table, reward, sparklineLength)] : [],
    secondsPerStep: trainer?.metrics.get('time/step')?.last,
  };
}

function listOf({ roles }: MetricFile): readonly MetricInfo[] {
  return [...roles].flatMap(([role, { metrics }]) =>
    [...metrics.values()].map(({ name, points, last }) => ({
      role,
      name,
      points,
      last: finite(last),
    })),
  );
}
