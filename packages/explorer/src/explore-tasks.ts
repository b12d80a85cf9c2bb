/**
 * Exploring task by task, for a trainer in another process: lease a task, make its runs, store what
 * came of them. Which tasks there are, and with which weights, the trainer says.
 */
import type { Task } from '@trinity-rft/core';
import type { LeasedTask, Membership, RunStore } from '@trinity-rft/core/store';
import type { RunningTask } from './runs/start-task.js';
import { toTaskResult } from './runs/outcome-json.js';
import { assertNotStopped } from './runs/run-attempt.js';

/** The weights that an explorer samples with. */
export interface ExplorerWeights {
  /** Version in use; -1: none yet. */
  readonly version: number;
  /**
   * Takes the newest weights that the trainer has published, unless `busy` runs must end on those in
   * use first. False: they are yet to come.
   */
  follow(busy: boolean): Promise<boolean>;
}

export interface ExploreTasksOptions {
  readonly store: Pick<RunStore, 'lease' | 'complete' | 'giveBack' | 'cutTasks' | 'changed'>;
  readonly member: Membership;
  readonly weights: ExplorerWeights;
  /** Newer weights than a task was planned for may sample it. */
  readonly mayBeNewer: boolean;
  /** Tasks in progress at once, at this moment. */
  readonly room: () => Promise<number>;
  readonly taskOf: (leased: LeasedTask) => Promise<Task>;
  readonly startTask: (task: Task) => Pick<RunningTask, 'outcome' | 'cutOff'>;
  /** Explore steps may not wait for all of their tasks. */
  readonly mayCutOff: boolean;
  /** Nothing is left to explore, now or later. Asked when there was nothing to lease. */
  readonly ended: () => Promise<boolean>;
  /** Called with what became of each task. */
  readonly onResult?: (leased: LeasedTask, outcome: 'stored' | 'late') => void;
  /** Longest time between two looks at the store, in ms. */
  readonly lookEveryMs: number;
  /** Stops it: tasks in progress are returned. */
  readonly signal: AbortSignal;
}

interface Exploring extends ExploreTasksOptions {
  /** With what cuts them off. */
  readonly inFlight: Map<LeasedTask, () => void>;
  /** Rejects if weights that are being taken turn out not to be the trainer's. */
  following: Promise<boolean>;
  failure: Error | undefined;
  /** Wakes the loop when a task has ended. */
  readonly wake: () => void;
  readonly woken: () => Promise<void>;
}

/**
 * Resolves when the trainer has ended the run.
 * @throws CancelledError when stopped, and what `follow` or a task threw; tasks are given back
 */
export async function exploreTasks(options: ExploreTasksOptions): Promise<void> {
  let wake = (): void => undefined;
  const exploring: Exploring = {
    ...options,
    inFlight: new Map(),
    following: Promise.resolve(false),
    failure: undefined,
    wake: () => wake(),
    woken: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
  try {
    while (await exploreOn(exploring));
  } catch (error) {
    await giveAllBack(exploring);
    throw error;
  }
}

/** One round; false at the end. */
async function exploreOn(exploring: Exploring): Promise<boolean> {
  const { store, weights, inFlight, lookEveryMs, signal } = exploring;
  assertNotStopped(signal);
  if (exploring.failure) throw exploring.failure;
  const woken = exploring.woken();
  exploring.following = weights.follow(inFlight.size > 0);
  const ready = await exploring.following;
  if (exploring.mayCutOff && inFlight.size > 0) await cutOff(exploring);
  const leased = ready ? await leaseTasks(exploring) : 0;
  if (leased > 0) return true;
  if (inFlight.size === 0 && (await exploring.ended())) return false;
  const looked = new AbortController();
  await Promise.race([
    woken,
    store.changed(lookEveryMs, AbortSignal.any([signal, looked.signal])),
  ]).finally(() => looked.abort());
  return true;
}

async function cutOff({ store, member, inFlight }: Exploring): Promise<void> {
  const cut = await store.cutTasks(member);
  for (const [own, end] of inFlight)
    if (cut.some(({ batch, task }) => batch === own.batch && task === own.task)) end();
}

async function leaseTasks(exploring: Exploring): Promise<number> {
  const { store, member, inFlight } = exploring;
  const count = (await exploring.room()) - inFlight.size;
  if (count <= 0) return 0;
  let started = 0;
  for (const leased of await store.lease(member, { count, maxStep: Infinity })) {
    // The trainer has planned it for weights that it has published in this moment.
    if (!maySample(exploring, leased)) {
      await store.giveBack(member, leased);
      continue;
    }
    inFlight.set(leased, () => undefined);
    void explore(exploring, leased);
    started++;
  }
  return started;
}

function maySample({ weights, mayBeNewer }: Exploring, { version }: LeasedTask): boolean {
  if (version === undefined || version === weights.version) return true;
  return mayBeNewer && weights.version > version;
}

/** Does not reject. */
async function explore(exploring: Exploring, leased: LeasedTask): Promise<void> {
  const { store, member, inFlight, taskOf, startTask, onResult, signal } = exploring;
  try {
    const running = startTask(await taskOf(leased));
    inFlight.set(leased, () => running.cutOff());
    const outcome = await running.outcome;
    // The last calls may have used weights whose proof is under way.
    await exploring.following;
    if (!signal.aborted) {
      const stored = await store.complete(member, leased, toTaskResult(outcome));
      onResult?.(leased, stored);
      inFlight.delete(leased);
    }
  } catch (error) {
    exploring.failure ??= error as Error;
  } finally {
    exploring.wake();
  }
}

/** A store that is gone gives them to others when the lease time is over. */
async function giveAllBack({ store, member, inFlight }: Exploring): Promise<void> {
  for (const leased of inFlight.keys()) await store.giveBack(member, leased).catch(() => undefined);
}
