/**
 * Delegates explore steps to other processes. Plans the tasks, and reads the results when all tasks
 * are done.
 */
import { runKey, type Clock, type Task, CancelledError, uid } from '@trinity-rft/core';
import type { BatchContents, JsonState, PlannedBatch, RunStore } from '@trinity-rft/core/store';
import {
  enoughTasks,
  fromTaskResult,
  isPending,
  usableOutcome,
  type OverRollout,
} from '@trinity-rft/explorer/internal';
import type { TaskOutcome } from '@trinity-rft/explorer';
import type { JoinedRun } from './join-run.js';

export interface RemoteTasksOptions {
  readonly store: RunStore;
  readonly joined: Pick<JoinedRun, 'member' | 'waitFor'>;
  /**
   * Returns the version of the weights with which newly planned tasks must be sampled; see
   * `PlannedBatch`.
   */
  readonly version: () => number;
  /** State that is stored with each plan. @default `{}` */
  readonly feed?: () => JsonState;
  /**
   * Rule by which a step ends before all its tasks are done.
   * @default no rule: a step waits for all its tasks
   */
  readonly overRollout?: OverRollout;
  readonly clock: Pick<Clock, 'now'>;
  /** Longest time between two reads of the store, in ms. */
  readonly lookEveryMs: number;
}

export interface RemoteTasks {
  /**
   * Plans one batch of tasks, and waits until other processes have made the rollouts.
   * @throws CancelledError if the signal aborts
   */
  run(tasks: readonly Task[], signal: AbortSignal): Promise<readonly TaskOutcome[]>;
  /**
   * Returns the experiences of explore step `step` as explorers stored them. A second call for the
   * same step returns none.
   */
  takeCollected(step: number): readonly Collected[];
}

/** An experience that an explorer has stored. */
export interface Collected {
  readonly uid: string;
  readonly run: string;
  /** Index of the model call in its rollout. */
  readonly call: number;
  /** Reason to record if the experience is not trained on, such as `filtered`. */
  readonly reason: string;
}

interface Watch extends RemoteTasksOptions {
  /** Batches that were complete when this process started. */
  readonly before: Set<string>;
  readonly complete: Set<string>;
  readonly collected: Map<number, readonly Collected[]>;
  order: number;
  /** The current read of the store, which all waiting batches share; undefined if there is none. */
  looking: Promise<void> | undefined;
  /**
   * Promise of the last call of `plan`. Calls are made one after another, because explorers lease
   * tasks in the order of the plans.
   */
  planning: Promise<unknown>;
}

export async function remoteTasks(options: RemoteTasksOptions): Promise<RemoteTasks> {
  const watch: Watch = {
    ...options,
    before: new Set(),
    complete: new Set(),
    collected: new Map(),
    order: 0,
    looking: undefined,
    planning: Promise.resolve(),
  };
  await look(watch);
  for (const batch of watch.complete) watch.before.add(batch);
  return {
    run: (tasks, signal) => runRemotely(watch, tasks, { signal, attempt: 1 }),
    takeCollected: (step) => {
      const collected = watch.collected.get(step) ?? [];
      watch.collected.delete(step);
      return collected;
    },
  };
}

async function look(watch: Watch): Promise<void> {
  for (const { batch, order } of await watch.store.batchesCompletedAfter(watch.order)) {
    watch.complete.add(batch);
    watch.order = Math.max(watch.order, order);
  }
}

interface Attempt {
  readonly signal: AbortSignal;
  /**
   * Number of this attempt at the batch, from 1. A batch is attempted again if all its rollouts
   * failed in an earlier process.
   */
  readonly attempt: number;
}

async function runRemotely(
  watch: Watch,
  tasks: readonly Task[],
  { signal, attempt }: Attempt,
): Promise<readonly TaskOutcome[]> {
  const [first] = tasks;
  if (!first) return [];
  const batch = plannedBatch(tasks, first, { attempt, version: watch.version() });
  const plan = { step: batch.step, batches: [batch], feed: watch.feed?.() ?? {} };
  const planned = watch.planning.then(() => watch.store.plan(watch.joined.member, plan));
  watch.planning = planned.catch(() => undefined);
  await planned;
  await untilComplete(watch, batch, signal);
  const contents = await watch.store.readBatch(batch.batch);
  const outcomes = outcomesOf(tasks, contents);
  // Every rollout of the batch failed before this process was restarted. The batch is attempted
  // again, because the user may have fixed the cause.
  if (watch.before.has(batch.batch) && outcomes.every(hasFailed))
    return runRemotely(watch, tasks, { signal, attempt: attempt + 1 });
  if (!batch.isEval) {
    const before = watch.collected.get(batch.step) ?? [];
    watch.collected.set(batch.step, [
      ...before,
      ...outcomes.flatMap((outcome) => collectedIn(outcome, watch)),
    ]);
  }
  return outcomes;
}

export const hasFailed = ({ runs }: TaskOutcome): boolean =>
  runs.every(({ status }) => status === 'failed');

function collectedIn(
  outcome: TaskOutcome,
  { overRollout = waitsForAll }: Pick<Watch, 'overRollout'>,
): readonly Collected[] {
  const reason = isPending(outcome)
    ? 'waits for its reward'
    : usableOutcome(outcome, overRollout).unusedRuns > 0
      ? 'cut off'
      : 'filtered';
  const experiences = outcome.runs.flatMap((run) => (run.status === 'ok' ? run.experiences : []));
  return experiences.map(({ eid }) => ({
    uid: uid(eid),
    run: runKey(eid),
    call: eid.step,
    reason,
  }));
}

const waitsForAll = { ratio: 0, waitAfterMinMs: 0, returnPartialTasks: false };

function plannedBatch(
  tasks: readonly Task[],
  { batchId, taskId, isEval }: Task,
  { attempt, version }: { readonly attempt: number; readonly version: number | undefined },
): PlannedBatch {
  // A batch of tasks that were drawn later to fill the step needs another name.
  const drawn = Number(taskId) === 0 ? '' : `+${taskId}`;
  // The version is part of the name, because weights of several versions may be evaluated at the
  // same step.
  const name = isEval ? `${batchId}@${version}` : `${batchId}${drawn}`;
  return {
    batch: attempt === 1 ? name : `${name}#${attempt}`,
    step: Number.parseInt(name, 10),
    isEval,
    version,
    tasks: tasks.map(({ taskId, index }) => ({
      task: Number(taskId),
      taskset: index.taskset,
      row: index.row,
    })),
  };
}

function outcomesOf(tasks: readonly Task[], { results }: BatchContents): readonly TaskOutcome[] {
  return tasks.flatMap((task, index) => {
    const result = results[index];
    return result ? [fromTaskResult(task, result)] : [];
  });
}

async function untilComplete(
  watch: Watch,
  planned: PlannedBatch,
  signal: AbortSignal,
): Promise<void> {
  const { batch, step, isEval } = planned;
  if (watch.complete.has(batch)) return;
  const what = isEval ? `the evaluation ${batch}` : `the results of explore step ${step}`;
  await watch.joined.waitFor({ what, on: 'explorer' }, async () => {
    const notAll = notWaitingForAll(watch, planned);
    while (!watch.complete.has(batch)) {
      await notAll();
      if (signal.aborted)
        throw new CancelledError(`Stopped while waiting for ${what}.`, {
          reason: 'shutdown',
          cause: signal.reason,
        });
      watch.looking ??= lookAgain(watch, signal).finally(() => {
        watch.looking = undefined;
      });
      await watch.looking;
    }
  });
}

/**
 * Returns a function to call at every read of the store. Once enough tasks are done and the grace
 * period has passed, the function cuts off the remaining tasks. The grace period pauses while an
 * explorer waits for an environment.
 */
function notWaitingForAll(
  { store, joined, clock, overRollout = waitsForAll }: Watch,
  { batch, isEval, tasks }: PlannedBatch,
): () => Promise<void> {
  if (isEval || overRollout.ratio === 0) return async () => undefined;
  const enough = enoughTasks(tasks.length, overRollout);
  let graceMs = 0;
  let lookedAt: number | undefined;
  return async () => {
    if (lookedAt === undefined && (await store.countDoneTasks(batch)) < enough) return;
    const before = lookedAt ?? clock.now();
    lookedAt = clock.now();
    if (await waitsForEnvironment(store)) return;
    graceMs += lookedAt - before;
    if (graceMs >= overRollout.waitAfterMinMs) await store.cutOffBatch(joined.member, batch);
  };
}

/**
 * Returns true if an explorer waits for something outside of the training run, such as an
 * environment.
 */
async function waitsForEnvironment(store: Pick<RunStore, 'view'>): Promise<boolean> {
  const { members } = await store.view();
  return members.some(
    ({ role, isAlive, hasLeft, waits }) =>
      role === 'explorer' && isAlive && !hasLeft && waits.some(({ on }) => on === undefined),
  );
}

async function lookAgain(watch: Watch, signal: AbortSignal): Promise<void> {
  await watch.store.waitForChange(watch.lookEveryMs, signal).catch(() => undefined);
  await look(watch);
}
