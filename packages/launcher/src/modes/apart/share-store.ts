/** The trainer's experience store, whose acknowledgements are also recorded for the whole run. */
import type { Experience, ExperienceStore, Lease } from '@trinity-rft/core';
import {
  BufferError,
  uid,
  type JsonState,
  type Membership,
  type RunStore,
  type TrainRecord,
} from '@trinity-rft/core/internal';

export interface ShareOptions {
  readonly store: RunStore;
  readonly member: Membership;
  /** See `RemoteTasks`. */
  readonly takeCollected: (step: number) => readonly string[];
  /** Called with the last explore step that is in the store. */
  readonly onStored: (step: number) => void;
}

interface Shared extends ShareOptions {
  readonly inner: ExperienceStore;
  /** Kept with the explorer's state, until a train step has recorded it. */
  pending: Pending;
  /** Train steps that were made before the process stopped, by number: they are made again alike. */
  records: ReadonlyMap<number, TrainRecord>;
}

interface Pending {
  /** Left out by the pipeline. */
  readonly discarded: readonly string[];
  /** Made by the pipeline: explorers have stored nothing under these uids. */
  readonly made: readonly string[];
}

const nothing: Pending = { discarded: [], made: [] };

/** `inner`, with each train step also recorded in the run store, under the trainer's place. */
export function shareStore(inner: ExperienceStore, options: ShareOptions): ExperienceStore {
  const shared: Shared = { ...options, inner, pending: nothing, records: new Map() };
  return {
    ...inner,
    put: (batch, state) => put(shared, batch, state),
    take: async (...args) => {
      const lease = await inner.take(...args);
      return lease && sharedLease(shared, lease);
    },
    rollback: async (trainStep) => {
      await inner.rollback(trainStep);
      const records = await options.store.recordsAfter(trainStep);
      shared.records = new Map(records.map((record) => [record.trainStep, record]));
      await restore(shared);
    },
    prune: async (trainStep) => {
      await inner.prune(trainStep);
      await options.store.prune(options.member, trainStep);
    },
  };
}

interface State extends JsonState {
  readonly step: number;
  readonly pending?: Pending;
}

async function put(
  shared: Shared,
  batch: readonly Experience[],
  state: JsonState | undefined,
): Promise<void> {
  const { inner, pending, takeCollected, onStored } = shared;
  if (state === undefined) return inner.put(batch);
  const { step } = state as State;
  const collected = takeCollected(step);
  const stored = batch.map(({ eid }) => uid(eid));
  shared.pending = {
    discarded: [...pending.discarded, ...without(collected, new Set(stored))],
    made: [...pending.made, ...without(stored, new Set(collected))],
  };
  await inner.put(batch, { ...state, pending: shared.pending });
  onStored(step);
}

const without = (uids: readonly string[], others: ReadonlySet<string>): readonly string[] =>
  uids.filter((each) => !others.has(each));

/** What is pending since before the process stopped, less what a record has by now. */
async function restore(shared: Shared): Promise<void> {
  const { inner, store, onStored } = shared;
  const state = (await inner.explorerState()) as State | undefined;
  if (!state) return;
  onStored(state.step);
  const { discarded, made } = state.pending ?? nothing;
  const batches = new Set(discarded.map((each) => each.slice(0, each.indexOf('/'))));
  const used = new Set<string>();
  for (const batch of batches) for (const each of (await store.read(batch)).used) used.add(each);
  shared.pending = { discarded: without(discarded, used), made };
}

function sharedLease(shared: Shared, lease: Lease): Lease {
  return {
    ...lease,
    acknowledge: async (trainStep) => {
      const { pending, records, store, member } = shared;
      const made = new Set(pending.made);
      const all = lease.experiences.map(({ eid }) => uid(eid));
      const before = records.get(trainStep);
      if (before) {
        assertSame(before, all);
        return lease.acknowledge(trainStep);
      }
      const { stale = [] } = lease;
      const discarded = [
        ...pending.discarded.map((each) => ({ uid: each, reason: 'filtered' })),
        ...without(stale, made).map((each) => ({ uid: each, reason: 'stale' })),
      ];
      await store.acknowledge(member, { trainStep, trained: without(all, made), discarded });
      await lease.acknowledge(trainStep);
      const recorded = new Set([...pending.discarded, ...all, ...stale]);
      shared.pending = {
        discarded: without(shared.pending.discarded, recorded),
        made: without(shared.pending.made, recorded),
      };
    },
  };
}

function assertSame({ trainStep, trained }: TrainRecord, all: readonly string[]): void {
  const recorded = new Set(trained);
  const again = all.filter((each) => recorded.has(each));
  if (again.length === trained.length && again.every((each, i) => each === trained[i])) return;
  throw new BufferError(
    `Train step ${trainStep} was made of ${trained.length} experiences before the process stopped, and would now be made of others. Start the run with the configuration that it had.`,
    { code: 'RECORD_DIFFERS' },
  );
}
