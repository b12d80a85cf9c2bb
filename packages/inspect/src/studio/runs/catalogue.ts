/** Catalogue of all served runs. */
import { createRun, type Run } from './run.js';
import { findRuns, type RunPlace } from './place.js';
import type { RunEvent, RunSummary } from '../interface/types.js';

export interface Catalogue {
  run(id: string): Run | undefined;
  /** Summaries of all runs; the run that changed last comes first. */
  summaries(): Promise<readonly RunSummary[]>;
  /**
   * Calls back with all runs as soon as they are read, and later with changes. Polls folders only
   * while a client follows.
   * @returns function that unsubscribes
   */
  follow(onChange: (event: RunEvent) => void): () => void;
  close(): void;
}

/** Time in ms between reads: steps appear within a second, without slowing the training down. */
const lookMs = 700;
/** Number of reads after which folders are searched and ended runs are read, which rarely change. */
const allEveryLooks = 5;
/** Time in ms without a change after which a run without a process counts as ended. */
const quietMs = 15_000;

/** @param root a folder in which runs are searched, or the locations of known runs */
export function createCatalogue(root: string | readonly RunPlace[]): Catalogue {
  const runs = new Map<string, Run>();
  const followers = new Set<(event: RunEvent) => void>();
  let known = new Map<string, string>();
  let latest: readonly RunSummary[] = [];
  let timer: NodeJS.Timeout | undefined;
  let looks = 0;
  let notListed = 0;
  let isClosed = false;

  const find = async (): Promise<readonly string[]> => {
    const { places, left } =
      typeof root === 'string' ? await findRuns(root) : { places: root, left: 0 };
    notListed = left;
    const ids = new Set(places.map(({ id }) => id));
    const gone = [...runs.keys()].filter((id) => !ids.has(id));
    for (const id of gone) {
      runs.get(id)?.close();
      runs.delete(id);
    }
    for (const place of places) {
      const before = runs.get(place.id);
      if (before?.place.database === place.database && before !== undefined) continue;
      before?.close();
      runs.set(place.id, createRun(place));
    }
    return gone;
  };

  const summaries = async (): Promise<readonly RunSummary[]> => {
    const all: RunSummary[] = [];
    for (const run of runs.values()) all.push(await run.summary());
    return all.toSorted((a, b) => b.changedAt - a.changedAt);
  };

  /** Current summaries of the latest runs; for ended ones, the last summary. */
  const recentSummaries = (): Promise<readonly RunSummary[]> =>
    Promise.all(
      latest.map(async (seen) =>
        isQuiet(seen) ? seen : ((await runs.get(seen.id)?.summary()) ?? seen),
      ),
    );

  const look = async (): Promise<void> => {
    const isOfAll = looks++ % allEveryLooks === 0;
    const gone = isOfAll ? await find() : [];
    const all = await (isOfAll ? summaries() : recentSummaries());
    latest = all;
    const texts = new Map(all.map((summary) => [summary.id, JSON.stringify(summary)]));
    const changed = all.filter(({ id }) => texts.get(id) !== known.get(id));
    known = texts;
    if (changed.length + gone.length === 0) return;
    for (const tell of followers) tell({ runs: [...changed], gone: [...gone], left: notListed });
  };

  const again = (): void => {
    timer = setTimeout(() => {
      // The next read retries a folder that could not be read.
      void look()
        .catch(() => undefined)
        .finally(() => {
          if (followers.size > 0 && !isClosed) again();
          else timer = undefined;
        });
    }, lookMs);
  };

  return {
    run: (id) => runs.get(id),
    summaries: async () => {
      await find();
      return summaries();
    },
    follow: (onChange) => {
      const begin = async (): Promise<void> => {
        await find();
        onChange({ runs: [...(await summaries())], gone: [], left: notListed });
        followers.add(onChange);
        if (timer === undefined && !isClosed) again();
      };
      let isOver = false;
      void begin().finally(() => isOver && followers.delete(onChange));
      return () => {
        isOver = true;
        followers.delete(onChange);
      };
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const run of runs.values()) run.close();
    },
  };
}

const isQuiet = ({ state, changedAt }: RunSummary): boolean =>
  state !== 'running' && Date.now() - changedAt > quietMs;
