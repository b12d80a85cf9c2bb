/**
 * The experience store over any row driver. Leases and waiting live in memory only: a process that
 * dies takes its leases with it, and their rows are waiting again at the next open without any
 * repair. That needs one owner per store; durable drivers see to it.
 */
import {
  mean,
  taskKey,
  type Clock,
  type Experience,
  type ExperienceStore,
  type Lease,
  type Metrics,
} from '@trinity-rft/core';
import type { RowDriver, StoredRow } from './row-driver.js';
import {
  closedError,
  countError,
  finishedError,
  leaseEndedError,
  takeCancelledError,
  trainStepError,
} from './errors.js';
import { rowQueue, type Grant } from './row-queue.js';

export interface LeaseStoreOptions {
  /**
   * Number of waiting experiences above which a put waits until takers have made room. It never
   * holds back what a waiting taker needs, nor a batch that finds the store empty. @default
   * unlimited
   */
  readonly capacity?: number;
  /** For rows that somebody else adds. @default nobody does */
  readonly follow?: Follow;
}

/** Looks for rows that another process has added, again and again until that has ended. */
export interface Follow {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly everyMs: number;
  /** True when nobody will add any more rows; then the store is finished. */
  readonly ended: () => boolean;
}

type LeaseState = 'open' | 'acknowledged' | 'released' | 'rolled back';

export function leaseStore(driver: RowDriver, options: LeaseStoreOptions = {}): ExperienceStore {
  const first = driver.unsettled();
  const queue = rowQueue(first, options.capacity ?? Infinity);
  const closed = new AbortController();
  /** Newest row that the queue has had. */
  let newest = first.at(-1)?.id ?? 0;
  const known = (rows: readonly StoredRow[]): readonly StoredRow[] => {
    newest = Math.max(newest, rows.at(-1)?.id ?? 0);
    return rows;
  };
  const leases = new Set<{ state: LeaseState }>();
  let ended: 'finished' | 'closed' | undefined;
  let failure: Error | undefined;

  const assertOpen = (what: string): void => {
    if (ended === 'closed') throw closedError(what);
  };

  const openLease = ({ used, stale }: Grant): Lease => {
    const experiences = driver.read(used);
    const lease: { state: LeaseState } = { state: 'open' };
    leases.add(lease);
    const end = (state: LeaseState): void => {
      lease.state = state;
      leases.delete(lease);
    };
    return {
      experiences,
      metrics: leaseMetrics(experiences, stale.length),
      acknowledge: async (trainStep) => {
        assertOpen('An acknowledgement');
        if (lease.state !== 'open') throw leaseEndedError(lease.state);
        checkTrainStep(trainStep);
        driver.settle(used, stale, trainStep);
        end('acknowledged');
      },
      release: async () => {
        if (lease.state !== 'open' || ended === 'closed') return;
        end('released');
        queue.giveBack({ used, stale });
      },
    };
  };

  const store: ExperienceStore = {
    put: async (batch, explorerState) => {
      assertOpen('A put');
      if (failure) throw failure;
      if (ended === 'finished') throw finishedError();
      await queue.admit(batch.length, () => queue.add(known(driver.insert(batch, explorerState))));
    },
    take: async (count, filter = {}, signal) => {
      assertOpen('A take');
      if (failure) throw failure;
      if (!Number.isInteger(count) || count < 1) throw countError(count);
      if (signal?.aborted) throw takeCancelledError(count, queue.length, signal.reason);
      return queue.take(
        { count, minPolicyVersion: filter.minPolicyVersion ?? -Infinity, signal },
        openLease,
      );
    },
    rollback: async (trainStep) => {
      assertOpen('A rollback');
      checkTrainStep(trainStep);
      driver.unsettle(trainStep);
      for (const lease of leases) lease.state = 'rolled back';
      leases.clear();
      const held = new Set(queue.held().map((row) => row.id));
      queue.reset(known(driver.unsettled()).filter((row) => !held.has(row.id)));
    },
    explorerState: async () => {
      assertOpen('Reading the explorer state');
      return driver.explorerState();
    },
    finish: () => {
      if (ended) return;
      ended = 'finished';
      queue.finish();
    },
    fail: (error) => {
      if (ended === 'closed' || failure) return;
      failure = error;
      queue.refuseAll(error);
    },
    counts: async () => {
      assertOpen('Counting');
      const { total, trained, dropped } = driver.counts();
      const refused = queue.held().length;
      return {
        total,
        waiting: queue.length,
        leased: total - trained - dropped - queue.length - refused,
        trained,
      };
    },
    close: async () => {
      if (ended === 'closed') return;
      ended = 'closed';
      closed.abort();
      queue.refuseAll(closedError('Waiting'));
      driver.close();
    },
  };
  if (options.follow) void followRows(options.follow);
  return store;

  async function followRows({ clock, everyMs, ended: noMore }: Follow): Promise<void> {
    try {
      while (!ended) {
        const last = noMore();
        queue.add(known(driver.unsettled(newest)));
        if (last) return store.finish();
        await clock.sleep(everyMs, closed.signal);
      }
    } catch (error) {
      if (!closed.signal.aborted) store.fail(error as Error);
    }
  }
}

function checkTrainStep(trainStep: number): void {
  if (!Number.isInteger(trainStep) || trainStep < 0) throw trainStepError(trainStep);
}

/**
 * Names as in the original: versions that sampled the batch, distinct tasks in it, and how many
 * were too old.
 */
function leaseMetrics(experiences: readonly Experience[], stale: number): Metrics {
  const versions = experiences.map((experience) => experience.policyVersion);
  return {
    'sample/model_version/mean': mean(versions),
    'sample/model_version/max': versions.reduce((a, b) => Math.max(a, b)),
    'sample/model_version/min': versions.reduce((a, b) => Math.min(a, b)),
    'sample/task_count': new Set(experiences.map((experience) => taskKey(experience.eid))).size,
    'sample/stale_dropped': stale,
  };
}
