/** Catalogue of all served runs. */
import { createQueue } from '../shared/queue.js';
import { createRun, type Run } from './run.js';
import { findRuns, type RunPlace } from './place.js';
import type { RunEvent, RunSummary } from '../interface/types.js';

export interface Catalogue {
  run(id: string): Run | undefined;
  /** Summaries of all runs; the run that changed last comes first. */
  summaries(): Promise<readonly RunSummary[]>;
  /**
   * Calls `onChange` with all runs as soon as they are read, and later with changes. Polls folders
   * only while there are followers.
   * @returns function that unsubscribes
   */
  follow(onChange: (event: RunEvent) => void): () => void;
  /**
   * Reads the runs that may have changed a last time, and sends their changes as the last event.
   * Resolves when no followers are left, and at once if there are none.
   * @param ended command that opens the studio again
   */
  end(ended: string): Promise<void>;
  close(): void;
}

/**
 * Time in ms between reads. Steps thus appear within a second, and reading does not slow the
 * training down.
 */
const lookMs = 700;
/**
 * A full poll happens once in this many polls. It searches folders for runs and reads ended runs
 * again, both of which rarely change.
 */
const allEveryLooks = 5;
/**
 * Time in ms after the last change after which a run that is not running is no longer read in every
 * poll.
 */
const quietMs = 15_000;

/** Timeout of each summary in the last event, in ms. */
const lastMs = 1500;

/**
 * Creates the catalogue.
 * @param root a folder in which runs are searched, or the locations of known runs
 */
export function createCatalogue(root: string | readonly RunPlace[]): Catalogue {
  const runs = new Map<string, Run>();
  const followers = new Set<(event: RunEvent) => void>();
  let known = new Map<string, string>();
  let latest: readonly RunSummary[] = [];
  let timer: NodeJS.Timeout | undefined;
  let looks = 0;
  let notListed = 0;
  let isClosed = false;
  let ended: string | undefined;
  const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
  const oneAtATime = createQueue();

  /**
   * Updates the list of runs. Calls must not overlap: a call that lists folders earlier but ends
   * later would remove runs that the other found.
   */
  const find = async (): Promise<void> => {
    const { places, left } =
      typeof root === 'string' ? await findRuns(root) : { places: root, left: 0 };
    notListed = left;
    const ids = new Set(places.map(({ id }) => id));
    for (const [id, run] of runs) {
      if (ids.has(id)) continue;
      run.close();
      runs.delete(id);
    }
    for (const place of places) {
      const before = runs.get(place.id);
      if (before?.place.database === place.database && before !== undefined) continue;
      before?.close();
      runs.set(place.id, createRun(place));
    }
  };

  const summaries = async (): Promise<readonly RunSummary[]> => {
    const all: RunSummary[] = [];
    for (const run of runs.values()) all.push(await run.summary());
    return all.toSorted((a, b) => b.changedAt - a.changedAt);
  };

  /**
   * Returns the summaries of all runs. Reads only runs that may have changed; for the others, the
   * summary in `latest` is returned.
   */
  const recentSummaries = (mostMs?: number): Promise<readonly RunSummary[]> => {
    const before = new Map(latest.map((summary) => [summary.id, summary]));
    const recent = Array.from(runs, async ([id, run]) => {
      const seen = before.get(id);
      return seen && isQuiet(seen) ? seen : run.summary(mostMs);
    });
    return Promise.all(recent);
  };

  /**
   * Sets `latest`, and sends the followers the changes since the last call. Calls must not overlap.
   */
  const tellChanges = (now: readonly RunSummary[]): void => {
    latest = now;
    const texts = new Map(latest.map((summary) => [summary.id, JSON.stringify(summary)]));
    const changed = latest.filter(({ id }) => texts.get(id) !== known.get(id));
    const gone = [...known.keys()].filter((id) => !texts.has(id));
    known = texts;
    if (changed.length + gone.length === 0 && ended === undefined) return;
    for (const tell of followers) tell({ runs: changed, gone, left: notListed, ended });
  };
  const look = (isOfAll: boolean): Promise<void> =>
    oneAtATime(async () => {
      if (isOfAll) await find();
      tellChanges(await (isOfAll ? summaries() : recentSummaries()));
    });

  const again = (): void => {
    timer = setTimeout(() => {
      void look(looks++ % allEveryLooks === 0)
        .catch(retryLater)
        .finally(() => {
          if (followers.size > 0 && !isClosed && ended === undefined) again();
          else timer = undefined;
        });
    }, lookMs);
  };

  return {
    run: (id) => runs.get(id),
    summaries: () =>
      oneAtATime(async () => {
        await find();
        return summaries();
      }),
    follow: (onChange) => {
      let isOver = false;
      const begin = (): void => {
        if (isOver || isClosed) return;
        onChange({ runs: [...latest], gone: [], left: notListed, ended });
        followers.add(onChange);
        if (timer === undefined) again();
      };
      void look(true).catch(retryLater).then(begin);
      return () => {
        isOver = true;
        followers.delete(onChange);
        if (followers.size === 0 && ended !== undefined) leave();
      };
    },
    end: async (command) => {
      if (followers.size === 0) return;
      clearTimeout(timer);
      await oneAtATime(async () => {
        ended = command;
        await find();
        tellChanges(await recentSummaries(lastMs));
      }).catch(retryLater);
      if (followers.size > 0) await isLeft;
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const run of runs.values()) run.close();
    },
  };
}

/** Ignores the error of a folder that could not be read, because the next read retries it. */
const retryLater = (): void => undefined;

const isQuiet = ({ state, changedAt }: RunSummary): boolean =>
  state !== 'running' && Date.now() - changedAt > quietMs;
