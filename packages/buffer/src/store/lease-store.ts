/**
 * The experience store over any row driver. Leases and waiting live in memory only: when a process
 * dies, its leases end with it, and their rows are waiting again at the next open without any
 * repair. That requires one owner per store; durable drivers enforce it with a lock.
 */
import {
  runKey,
  type Clock,
  type Experience,
  type ExperienceStore,
  type Lease,
  type Metrics,
} from '@trinity-rft/core';
import { mean, taskKey, type JsonState, type TakeFilter } from '@trinity-rft/core/internal';
import {
  assertCount,
  assertTrainStep,
  closedError,
  finishedError,
  leaseEndedError,
  takeCancelledError,
} from './errors.js';
import type { RowDriver, StoredRow } from './row-driver.js';
import { rowQueue, type Grant, type RowQueue } from './row-queue.js';

export interface LeaseStoreOptions {
  /**
   * Number of waiting experiences above which a put waits until takers have made room. It never
   * holds back what a waiting taker needs, nor a batch that finds the store empty. @default
   * unlimited
   */
  readonly capacity?: number;
  /** For rows that another process adds. @default no other process adds rows */
  readonly follow?: Follow;
}

/** Looks for rows that another process has added, again and again until that process has ended. */
export interface Follow {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly everyMs: number;
  /** True when no more rows will be added; then the store is finished. */
  readonly ended: () => boolean;
}

export function leaseStore(driver: RowDriver, options: LeaseStoreOptions = {}): ExperienceStore {
  const rows = driver.unsettled();
  const store: StoreState = {
    driver,
    queue: rowQueue(rows, options.capacity ?? Infinity),
    newestId: rows.at(-1)?.id ?? 0,
    leases: new Set(),
    phase: 'open',
    failure: undefined,
    closed: new AbortController(),
  };
  if (options.follow) void followWriter(store, options.follow);
  return {
    put: (batch, explorerState) => put(store, batch, explorerState),
    take: (count, filter, signal) => take(store, count, filter, signal),
    starved: () => store.queue.waitingTakers > 0,
    releaseUpTo: (exploreStep) => store.queue.releaseUpTo(exploreStep),
    firstTrainStepAfter: async (exploreStep) => {
      assertOpen(store, 'firstTrainStepAfter');
      return driver.firstTrainStepAfter(exploreStep);
    },
    rollback: (trainStep) => rollback(store, trainStep),
    trainedUpTo: async () => {
      assertOpen(store, 'trainedUpTo');
      return driver.trainedUpTo();
    },
    prune: async (trainStep) => {
      assertOpen(store, 'prune');
      assertTrainStep(trainStep);
      driver.prune(trainStep);
    },
    explorerState: async () => {
      assertOpen(store, 'explorerState');
      return driver.explorerState();
    },
    finish: () => finish(store),
    fail: (error) => fail(store, error),
    counts: () => counts(store),
    close: () => close(store),
  };
}

interface StoreState {
  readonly driver: RowDriver;
  readonly queue: RowQueue;
  /** Newest row that the queue has received. */
  newestId: number;
  readonly leases: Set<OpenLease>;
  phase: 'open' | 'finished' | 'closed';
  failure: Error | undefined;
  /** Aborts when the store is closed. */
  readonly closed: AbortController;
}

interface OpenLease {
  state: 'open' | 'acknowledged' | 'released' | 'rolled back';
}

function assertOpen({ phase }: StoreState, call: string): void {
  if (phase === 'closed') throw closedError(call);
}

async function put(
  store: StoreState,
  batch: readonly Experience[],
  explorerState: JsonState | undefined,
): Promise<void> {
  assertOpen(store, 'put');
  if (store.failure) throw store.failure;
  if (store.phase === 'finished') throw finishedError();
  await store.queue.admit(batch.length, () => {
    const rows = store.driver.insert(batch, explorerState);
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
  if (signal?.aborted) throw takeCancelledError(request, queue.length, signal.reason);
  return queue.take({ ...request, signal }, (grant) => openLease(store, grant));
}

function openLease(store: StoreState, grant: Grant): Lease {
  const { driver, queue, leases } = store;
  const { used, stale } = grant;
  const experiences = driver.read(used);
  const lease: OpenLease = { state: 'open' };
  leases.add(lease);
  const end = (state: OpenLease['state']): void => {
    lease.state = state;
    leases.delete(lease);
  };
  return {
    experiences,
    metrics: leaseMetrics(experiences, stale.length),
    acknowledge: async (trainStep) => {
      assertOpen(store, 'acknowledge');
      if (lease.state !== 'open') throw leaseEndedError(lease.state);
      assertTrainStep(trainStep);
      driver.settle(used, stale, trainStep);
      end('acknowledged');
    },
    release: async () => {
      if (lease.state !== 'open' || store.phase === 'closed') return;
      end('released');
      queue.putBack(grant);
    },
  };
}

/**
 * Names as in Trinity-RFT: versions that sampled the batch, distinct tasks in it, and how many
 * experiences were too old; also distinct runs.
 */
function leaseMetrics(experiences: readonly Experience[], stale: number): Metrics {
  const versions = experiences.map((experience) => experience.policyVersion);
  return {
    'sample/model_version/mean': mean(versions),
    'sample/model_version/max': versions.reduce((a, b) => Math.max(a, b)),
    'sample/model_version/min': versions.reduce((a, b) => Math.min(a, b)),
    'sample/task_count': new Set(experiences.map((experience) => taskKey(experience.eid))).size,
    'sample/run_count': new Set(experiences.map((experience) => runKey(experience.eid))).size,
    'sample/stale_dropped': stale,
  };
}

async function rollback(store: StoreState, trainStep: number): Promise<void> {
  const { driver, queue, leases } = store;
  assertOpen(store, 'rollback');
  assertTrainStep(trainStep);
  driver.unsettle(trainStep);
  for (const lease of leases) lease.state = 'rolled back';
  leases.clear();
  const rows = driver.unsettled();
  noteNewest(store, rows);
  const setAside = new Set(queue.setAside().map((row) => row.id));
  queue.reset(rows.filter((row) => !setAside.has(row.id)));
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
  const { driver, queue } = store;
  const { total, trained, dropped } = driver.counts();
  const waiting = queue.length;
  const leased = total - trained - dropped - waiting - queue.setAside().length;
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
      // Asked before looking: a writer may add rows and end in between.
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
