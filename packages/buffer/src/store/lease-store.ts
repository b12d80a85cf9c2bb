/**
 * Implements the experience store on top of any row driver. Leases and waits exist only in memory:
 * if the process ends, its leases end too, and when the store is opened again, the leased rows are
 * back in the queue. Therefore a store can have only one owner, which durable drivers ensure with a
 * lock.
 */
import {
  runKey,
  type Clock,
  type Experience,
  type Metrics,
  mean,
  spansOf,
  taskKey,
} from '@trinity-rft/core';
import {
  commitIn,
  type ExperienceStore,
  type Lease,
  type JsonState,
  type TakeFilter,
} from '@trinity-rft/core/store';
import {
  assertCount,
  assertTrainStep,
  closedError,
  finishedError,
  leaseEndedError,
  otherStepError,
  takeCancelledError,
} from './errors.js';
import { reusePool } from './reuse-pool.js';
import type { Reuse } from './reuse.js';
import type { RowDriver, StoredRow } from './row-driver.js';
import { exploreStepOf, stepNumberOf } from './row-names.js';
import { fifoPool, type RowPool } from './row-pool.js';
import { type Grant, type Use } from './row-driver.js';
import { rowQueue, type RowQueue } from './row-queue.js';

export interface LeaseStoreOptions extends Pick<ExperienceStore, 'lateRewards'> {
  /**
   * Number of experiences in the queue above which a put waits until there is room. A put never
   * waits if a trainer waits for experiences, if the store is empty, or with {@link reuse}.
   * @default no limit
   */
  readonly capacity?: number;
  /**
   * Rules for using experiences again.
   * @default no reuse: first in, first out
   */
  readonly reuse?: Reuse;
  /**
   * Options for polling for rows that another process adds.
   * @default no polling
   */
  readonly follow?: Follow;
}

/**
 * Options for polling for rows that another process adds. Polling stops when that process has
 * ended.
 */
export interface Follow {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly everyMs: number;
  /** Returns true if no more rows will be added. The store is then finished. */
  readonly ended: () => boolean;
}

export function leaseStore(driver: RowDriver, options: LeaseStoreOptions = {}): ExperienceStore {
  const { reuse, lateRewards } = options;
  const rows = reuse ? driver.reusable() : driver.unsettled();
  const pool = reuse ? reusePool(reuse, rows) : fifoPool(rows);
  const store: StoreState = {
    driver,
    reuse,
    pool,
    // With reuse, surplus rows are evicted instead of blocking the explorer.
    queue: rowQueue({
      pool,
      capacity: reuse ? Infinity : (options.capacity ?? Infinity),
      clock: reuse?.clock,
    }),
    newestId: rows.at(-1)?.id ?? 0,
    trainStep: Infinity,
    leases: new Set(),
    phase: 'open',
    failure: undefined,
    closed: new AbortController(),
  };
  if (options.follow) void followWriter(store, options.follow);
  return {
    lateRewards,
    put: (batch, ...more) => put(store, batch, more),
    take: (count, filter, signal) => take(store, count, filter, signal),
    starved: () => store.queue.waitingTakers > 0,
    oldestUnusedStep: () => oldestUnusedStep(store),
    releaseUpTo: (exploreStep) => store.queue.releaseUpTo(exploreStep),
    firstTrainStepAfter: async (exploreStep) => {
      assertOpen(store, 'firstTrainStepAfter');
      return driver.firstTrainStepAfter(exploreStep);
    },
    rollback: (trainStep) => rollback(store, trainStep),
    lastTrainStep: async () => {
      assertOpen(store, 'lastTrainStep');
      return Math.min(driver.lastTrainStep(), store.trainStep);
    },
    prune: async (trainStep) => {
      assertOpen(store, 'prune');
      assertTrainStep(trainStep);
      driver.prune(trainStep, reusableIds(store));
    },
    explorerState: async () => {
      assertOpen(store, 'explorerState');
      return driver.explorerState();
    },
    lastCommit: async () => {
      assertOpen(store, 'lastCommit');
      return driver.lastCommit?.() ?? commitIn(driver.explorerState());
    },
    finish: () => finish(store),
    fail: (error) => fail(store, error),
    counts: () => counts(store),
    close: async () => {
      await close(store);
      await lateRewards?.close();
    },
  };
}

interface StoreState {
  readonly driver: RowDriver;
  readonly reuse: Reuse | undefined;
  readonly pool: RowPool;
  readonly queue: RowQueue;
  /** Id of the newest row that was added to the queue. */
  newestId: number;
  /**
   * Last train step after a rollback: the step that was rolled back to, or the step acknowledged
   * most recently since then. Infinity before the first rollback.
   */
  trainStep: number;
  readonly leases: Set<OpenLease>;
  phase: 'open' | 'finished' | 'closed';
  failure: Error | undefined;
  readonly closed: AbortController;
}

interface OpenLease {
  readonly used: readonly StoredRow[];
  state: 'open' | 'acknowledged' | 'released' | 'rolled back';
}

function assertOpen({ phase }: StoreState, call: string): void {
  if (phase === 'closed') throw closedError(call);
}

async function put(
  store: StoreState,
  batch: readonly Experience[],
  [explorerState, commit]: readonly [state?: JsonState, commit?: number],
): Promise<void> {
  assertOpen(store, 'put');
  if (store.failure) throw store.failure;
  if (store.phase === 'finished') throw finishedError();
  await store.queue.admit(batch.length, () => {
    const { driver } = store;
    // A driver without `lastCommit` keeps the number of the last commit in the explorer's state.
    const kept = driver.lastCommit ? undefined : (commit ?? driver.explorerState()?.['commit']);
    const state =
      kept === undefined ? explorerState : explorerState && { commit: kept, ...explorerState };
    const rows = driver.insert(batch, state, commit);
    noteNewest(store, rows);
    store.queue.add(rows);
  });
}

function noteNewest(store: StoreState, rows: readonly StoredRow[]): void {
  store.newestId = Math.max(store.newestId, rows.at(-1)?.id ?? 0);
}

async function take(
  store: StoreState,
  count: number,
  {
    minPolicyVersion = -Infinity,
    unit = 'experiences',
    maxExploreSteps = Infinity,
  }: TakeFilter = {},
  signal: AbortSignal | undefined,
): Promise<Lease | undefined> {
  const { queue } = store;
  assertOpen(store, 'take');
  if (store.failure) throw store.failure;
  const request = { count, unit, maxExploreSteps, minPolicyVersion };
  assertCount(request);
  if (signal?.aborted) throw takeCancelledError(request, store.pool.length, signal.reason);
  return queue.take({ ...request, signal }, (grant) => openLease(store, grant, minPolicyVersion));
}

function openLease(store: StoreState, grant: Grant, minPolicyVersion: number): Lease {
  const { driver, queue, leases, reuse } = store;
  const { used, stale } = grant;
  const experiences = driver.read(used);
  const tooOld = stale.filter(({ policyVersion }) => policyVersion < minPolicyVersion).length;
  const lease: OpenLease = { used, state: 'open' };
  leases.add(lease);
  const end = (state: OpenLease['state']): void => {
    lease.state = state;
    leases.delete(lease);
  };
  return {
    experiences,
    metrics: {
      ...leaseMetrics(experiences, tooOld),
      ...reuseMetrics(store, used, stale.length - tooOld),
    },
    stale: stale.map(uidOf),
    reusable: reuse && used.filter((row) => (row.uses ?? 0) + 1 < reuse.maxUses).map(uidOf),
    acknowledge: async (trainStep, advantages) => {
      assertOpen(store, 'acknowledge');
      if (lease.state !== 'open') throw leaseEndedError(lease.state);
      assertTrainStep(trainStep);
      const use = useOf(store, grant, { trainStep, advantages });
      store.trainStep = Math.max(trainStep, store.trainStep);
      end('acknowledged');
      queue.settle(grant, use);
    },
    release: async () => {
      if (lease.state !== 'open' || store.phase === 'closed') return;
      end('released');
      queue.putBack(grant);
    },
  };
}

const uidOf = ({ uid }: StoredRow): string => uid;

function oldestUnusedStep({ pool, queue, leases }: StoreState): number | undefined {
  const leased = [...leases].flatMap(({ used }) => used.filter((row) => !row.uses));
  const steps = [...leased, ...queue.setAside(), ...(pool.oldestNew ? [pool.oldestNew] : [])].map(
    stepNumberOf,
  );
  return steps.length === 0 ? undefined : steps.reduce((a, b) => Math.min(a, b));
}

/**
 * Returns metrics of a batch: policy versions of its model calls, and numbers of distinct tasks, of
 * distinct rollouts, of experiences, and of experiences that were dropped as too old. Names are
 * those of Trinity-RFT, except for the numbers of rollouts and experiences.
 */
function leaseMetrics(experiences: readonly Experience[], stale: number): Metrics {
  const versions = experiences.flatMap((experience) =>
    spansOf(experience).map(({ policyVersion }) => policyVersion),
  );
  return {
    'sample/model_version/mean': mean(versions),
    'sample/model_version/max': versions.reduce((a, b) => Math.max(a, b)),
    'sample/model_version/min': versions.reduce((a, b) => Math.min(a, b)),
    'sample/task_count': new Set(experiences.map((experience) => taskKey(experience.eid))).size,
    'sample/run_count': new Set(experiences.map((experience) => runKey(experience.eid))).size,
    'sample/experience_count': experiences.length,
    'sample/stale_dropped': stale,
  };
}

/**
 * Records that a train step used the rows. If the train step is repeated, its record already exists
 * and is only checked.
 */
function useOf(
  { driver, reuse }: StoreState,
  grant: Grant,
  { trainStep, advantages }: Omit<Use, 'at'>,
): Use {
  const use = { trainStep, advantages, at: reuse?.clock.now() ?? 0 };
  const { recordedStep } = grant;
  if (recordedStep === undefined) driver.settle(grant, use);
  else if (recordedStep !== trainStep) throw otherStepError(trainStep, recordedStep);
  return use;
}

/**
 * Returns metrics of reuse: the share of experiences that were trained on before, the number of
 * times that each has been used, including this time, the age of each in explore steps, relative to
 * the newest experience of the batch, and the number of experiences dropped beyond the capacity.
 */
function reuseMetrics({ reuse }: StoreState, used: Grant['used'], evicted: number): Metrics {
  if (!reuse) return {};
  const uses = used.map((row) => row.uses ?? 0);
  const max = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b));
  const steps = used.map((row) => Number(exploreStepOf(row).replace(/^c/, '')));
  const ages = steps.map((step) => max(steps) - step);
  return {
    'sample/replay/share': uses.filter((count) => count > 0).length / uses.length,
    'sample/replay/use_count/mean': mean(uses) + 1,
    'sample/replay/use_count/max': max(uses) + 1,
    'sample/replay/age/mean': mean(ages),
    'sample/replay/age/max': max(ages),
    'sample/replay/dropped': evicted,
  };
}

const reusableIds = ({ pool, leases }: StoreState): ReadonlySet<number> =>
  new Set([...pool.reusableIds(), ...[...leases].flatMap(({ used }) => used.map(({ id }) => id))]);

async function rollback(store: StoreState, trainStep: number): Promise<void> {
  const { driver, queue, leases } = store;
  assertOpen(store, 'rollback');
  assertTrainStep(trainStep);
  // With reuse, train steps are repeated with their recorded batches.
  const recorded = store.reuse ? driver.recordsAfter(trainStep) : [];
  if (!store.reuse) driver.unsettle(trainStep);
  for (const lease of leases) lease.state = 'rolled back';
  leases.clear();
  const rows = store.reuse ? driver.reusable(trainStep) : driver.unsettled();
  store.trainStep = trainStep;
  noteNewest(store, rows);
  const setAside = new Set(queue.setAside().map((row) => row.id));
  queue.reset(
    rows.filter((row) => !setAside.has(row.id)),
    recorded,
  );
}

function finish(store: StoreState): void {
  if (store.phase !== 'open') return;
  store.phase = 'finished';
  store.queue.finish();
}

function fail(store: StoreState, error: Error): void {
  if (store.phase === 'closed' || store.failure) return;
  store.failure = error;
  store.queue.rejectAll(error);
}

async function counts(store: StoreState): ReturnType<ExperienceStore['counts']> {
  assertOpen(store, 'counts');
  const { driver, queue, reuse, leases } = store;
  const { total, trained, dropped } = driver.counts();
  const notTrained = total - trained - dropped;
  const leasedNew = [...leases].flatMap(({ used }) => used.filter((row) => !row.uses)).length;
  const waiting = reuse ? notTrained - leasedNew : queue.newRows;
  const leased = notTrained - waiting - (reuse ? 0 : queue.setAside().length);
  return { total, waiting, leased, trained };
}

async function close(store: StoreState): Promise<void> {
  if (store.phase === 'closed') return;
  store.phase = 'closed';
  store.closed.abort();
  store.queue.rejectAll(closedError('take'));
  store.driver.close();
}

async function followWriter(store: StoreState, { clock, everyMs, ended }: Follow): Promise<void> {
  const { driver, queue, closed } = store;
  try {
    while (store.phase === 'open') {
      // Called before the rows are read, because a writer may add rows and end in between.
      const last = ended();
      const rows = driver.unsettled(store.newestId);
      noteNewest(store, rows);
      queue.add(rows);
      if (last) return finish(store);
      await clock.sleep(everyMs, closed.signal);
    }
  } catch (error) {
    if (!closed.signal.aborted) fail(store, error as Error);
  }
}
