/**
 * Gives an explorer its view of the training run: its share of the concurrency, what it waits for,
 * and whether the training run has ended.
 */
import type { StageConfig } from '@trinity-rft/config';
import type { Clock } from '@trinity-rft/core';
import type { RunStore, RunView, Wait } from '@trinity-rft/core/store';
import type { ExploreTasksOptions } from '@trinity-rft/explorer/internal';
import type { JoinedRun } from './join-run.js';

export interface ExplorerView {
  /** Run store that also reports what this explorer waits for while no task can be leased. */
  readonly store: ExploreTasksOptions['store'];
  /**
   * Returns the maximum number of tasks that this explorer may have in progress: its share of the
   * configured concurrency, which is divided among all live explorers.
   */
  readonly room: () => Promise<number>;
  readonly ended: () => Promise<boolean>;
  /** Returns the last train step of the training run; 0 before the run has ended. */
  readonly trainStep: () => number;
  /** Ends the current wait, if there is one. */
  readonly close: () => void;
}

interface ExplorerViewOptions {
  readonly store: RunStore;
  readonly joined: JoinedRun;
  readonly stage: Pick<StageConfig, 'explorer' | 'algorithm'>;
  readonly clock: Clock;
  /**
   * Returns true if all explore steps were explored without a trainer. @default undefined: there is
   * always a trainer
   */
  readonly isDone?: () => boolean;
}

/** Maximum age of a cached view, in ms. */
const viewAgeMs = 1000;

export function createExplorerView({
  store,
  joined,
  stage,
  clock,
  isDone,
}: ExplorerViewOptions): ExplorerView {
  let seen: { readonly at: number; readonly view: RunView } | undefined;
  const look = async (): Promise<RunView> => {
    // The absolute value covers a clock that was set back.
    if (!seen || Math.abs(clock.now() - seen.at) >= viewAgeMs)
      seen = { at: clock.now(), view: await store.view() };
    return seen.view;
  };
  const { name } = joined.member;
  let idle: { readonly what: string; readonly end: () => void } | undefined;
  /**
   * Reports that this explorer waits, or continues the current report if the wait is the same,
   * because a wait may last for several reads of the store. Undefined ends the current report.
   */
  const waitFor = (wait: Pick<Wait, 'what' | 'on'> | undefined): void => {
    if (idle?.what === wait?.what) return;
    idle?.end();
    idle = wait && { what: wait.what, end: joined.beginWait(wait) };
  };
  const { concurrency } = stage.explorer;
  return {
    store: {
      leaseTasks: async (...args) => {
        const leased = await store.leaseTasks(...args);
        if (leased.length > 0) waitFor(undefined);
        return leased;
      },
      storeResult: (...args) => store.storeResult(...args),
      releaseTask: (...args) => store.releaseTask(...args),
      cutOffTasks: (...args) => store.cutOffTasks(...args),
      waitForChange: async (...args) => {
        waitFor(waitOf(await look(), name));
        await store.waitForChange(...args);
      },
    },
    room: async () => {
      const { members } = await look();
      const explorers = members.filter(({ role, isAlive }) => role === 'explorer' && isAlive);
      const tasks = concurrency / stage.algorithm.repeatTimes / Math.max(1, explorers.length);
      return Math.max(1, Math.ceil(tasks));
    },
    ended: async () => {
      const { end, members } = await look();
      const trains = members.some(({ role, isAlive }) => role === 'trainer' && isAlive);
      return !trains && (end !== undefined || isDone?.() === true);
    },
    trainStep: () => seen?.view.end?.trainStep ?? 0,
    close: () => waitFor(undefined),
  };
}

/**
 * Returns what an explorer without leased tasks waits for. Returns undefined if the explorer has
 * leased tasks.
 */
function waitOf(view: RunView, name: string): Pick<Wait, 'what' | 'on'> | undefined {
  const { leases, members, published } = view;
  if (leases.some(({ explorer }) => explorer === name)) return undefined;
  const trainer = members.find(({ role, isAlive }) => role === 'trainer' && isAlive);
  if (!trainer) return { what: 'a trainer to take part in the run', on: 'trainer' };
  if (!published) return { what: 'the first weights', on: trainer.name };
  const [other] = leases;
  return other
    ? { what: `the rest of explore step ${other.step}`, on: other.explorer }
    : { what: 'tasks and weights for the next explore step', on: trainer.name };
}
