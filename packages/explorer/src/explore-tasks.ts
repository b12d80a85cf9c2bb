/**
 * Makes the rollouts of tasks that a trainer in another process has planned. Leases a task,
 * executes its rollouts and stores their results. The trainer determines the tasks and the weights
 * with which they are sampled.
 */
import type { Task } from '@trinity-rft/core';
import type { LeasedTask, Membership, RunStore } from '@trinity-rft/core/store';
import type { RunningTask } from './runs/start-task.js';
import { toTaskResult } from './runs/outcome-json.js';
import { assertNotStopped } from './runs/run-attempt.js';

/** The weights that an explorer samples with. */
export interface ExplorerWeights {
  /** Version in use; -1 if there are no weights yet. */
  readonly version: number;
  /**
   * Loads the newest weights that the trainer has published, unless this must wait until no rollout
   * is in progress. Resolves to false if no task may begin now, for example because no weights have
   * been published yet.
   * @param busy true if rollouts are in progress
   */
  follow(busy: boolean): Promise<boolean>;
}

export interface ExploreTasksOptions {
  readonly store: Pick<
    RunStore,
    'leaseTasks' | 'storeResult' | 'releaseTask' | 'cutOffTasks' | 'waitForChange'
  >;
  readonly member: Membership;
  readonly weights: ExplorerWeights;
  /** True if a task may be sampled by weights that are newer than those it was planned for. */
  readonly mayBeNewer: boolean;
  /** Returns the current maximum number of tasks in progress. */
  readonly room: () => Promise<number>;
  readonly taskOf: (leased: LeasedTask) => Promise<Task>;
  readonly startTask: (task: Task) => Pick<RunningTask, 'outcome' | 'cutOff'>;
  /** True if explore steps may end without waiting for all of their tasks. */
  readonly mayCutOff: boolean;
  /**
   * Resolves to true if nothing is left to explore and no more tasks will be planned. Called when
   * no task is in progress.
   */
  readonly ended: () => Promise<boolean>;
  /**
   * Called after each result was stored (`stored`), or was refused because the task had been cut
   * off or leased to another explorer (`late`).
   */
  readonly onResult?: (leased: LeasedTask, outcome: 'stored' | 'late') => void;
  /** Maximum number of milliseconds between two checks of the store. */
  readonly lookEveryMs: number;
  /** Signal that stops exploring: tasks in progress are returned to the store. */
  readonly signal: AbortSignal;
}

interface Exploring extends ExploreTasksOptions {
  /** Tasks in progress, each with a function that cuts it off. */
  readonly inFlight: Map<LeasedTask, () => void>;
  /**
   * Result of the last call of `follow`. Rejects if the loaded weights are not those that the
   * trainer has published.
   */
  following: Promise<boolean>;
  failure: Error | undefined;
  /** Wakes the loop when a task has ended. */
  readonly wake: () => void;
  readonly woken: () => Promise<void>;
}

/**
 * Explores tasks until `ended` resolves to true.
 * @throws CancelledError when stopped, and errors of `follow` or a task. Tasks in progress are then
 * returned to the store.
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

/** Executes one round of the loop. Returns false when there is nothing left to explore. */
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
    store.waitForChange(lookEveryMs, AbortSignal.any([signal, looked.signal])),
  ]).finally(() => looked.abort());
  return true;
}

async function cutOff({ store, member, inFlight }: Exploring): Promise<void> {
  const cut = await store.cutOffTasks(member);
  for (const [own, end] of inFlight)
    if (cut.some(({ batch, task }) => batch === own.batch && task === own.task)) end();
}

async function leaseTasks(exploring: Exploring): Promise<number> {
  const { store, member, inFlight, weights, mayBeNewer } = exploring;
  const count = (await exploring.room()) - inFlight.size;
  if (count <= 0) return 0;
  let started = 0;
  const request = { count, maxStep: Infinity, weights: { version: weights.version, mayBeNewer } };
  for (const leased of await store.leaseTasks(member, request)) {
    // A repeated call returns the tasks of the first one, which other weights may have asked for.
    if (!maySample(exploring, leased)) {
      await store.releaseTask(member, leased);
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

/** Explores a task and stores its result. Does not reject. */
async function explore(exploring: Exploring, leased: LeasedTask): Promise<void> {
  const { store, member, inFlight, taskOf, startTask, onResult, signal } = exploring;
  try {
    const running = startTask(await taskOf(leased));
    inFlight.set(leased, () => running.cutOff());
    const outcome = await running.outcome;
    // Waits until the weights are verified, because the last calls may have used new weights.
    await exploring.following;
    if (!signal.aborted) {
      const stored = await store.storeResult(member, leased, toTaskResult(outcome));
      onResult?.(leased, stored);
      inFlight.delete(leased);
    }
  } catch (error) {
    exploring.failure ??= error as Error;
  } finally {
    exploring.wake();
  }
}

/**
 * Returns tasks to the store. Failures are ignored, because these leases also end by themselves
 * when the lease time has passed.
 */
async function giveAllBack({ store, member, inFlight }: Exploring): Promise<void> {
  for (const leased of inFlight.keys())
    await store.releaseTask(member, leased).catch(() => undefined);
}
