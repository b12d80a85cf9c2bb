/**
 * Wraps the trainer's experience store so that the run store also records which experiences each
 * train step has used or discarded.
 */
import { runKey, type Experience, BufferError, ConfigError, spansOf, uid } from '@trinity-rft/core';
import type {
  ExperienceStore,
  Lease,
  JsonState,
  Membership,
  RunStore,
  TrainRecord,
} from '@trinity-rft/core/store';
import type { Collected } from './remote-tasks.js';

export interface ShareOptions {
  readonly store: RunStore;
  readonly member: Membership;
  /** Folder of the training run. */
  readonly jobDirectory: string;
  /** Returns the experiences that explorers have stored for an explore step; see `RemoteTasks`. */
  readonly takeCollected: (step: number) => readonly Collected[];
  /** Called with the last explore step whose experiences are in the store. */
  readonly onStored: (step: number) => void;
}

interface Shared extends ShareOptions {
  readonly inner: ExperienceStore;
  /**
   * Values to record with the next train step. Until then, they are stored with the explorer's
   * state.
   */
  pending: Pending;
  /**
   * Records of the train steps that will be repeated after a restart, by train step. A repeated
   * step must have the same experiences as its record.
   */
  records: ReadonlyMap<number, TrainRecord>;
}

interface Pending {
  /** Experiences that will not be trained on. */
  readonly discarded: readonly Discarded[];
  /**
   * Uids of experiences that the pipeline has created, and that are therefore unknown to the run
   * store.
   */
  readonly made: readonly string[];
}

type Discarded = TrainRecord['discarded'][number];

const nothing: Pending = { discarded: [], made: [] };

/** Wraps `inner` to record each train step in the run store. */
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
      await assertShared(shared, trainStep);
      await inner.rollback(trainStep);
      const records = await options.store.trainRecordsAfter(trainStep);
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

/**
 * Checks that the run store has all steps of the training run. A process that explores and trains
 * alone records its steps only in the experience store, without `pending`.
 * @throws ConfigError if the run store lacks steps
 */
async function assertShared(
  { inner, store, jobDirectory }: Shared,
  trainStep: number,
): Promise<void> {
  const state = (await inner.explorerState()) as State | undefined;
  const { plannedUpTo, trainStep: recorded } = await store.view();
  const isAlone = state !== undefined && state.pending === undefined;
  if (!isAlone && trainStep <= recorded) return;
  throw new ConfigError(
    `The run in ${jobDirectory} cannot continue with explorers: it is at explore step ${state?.step ?? 0} and train step ${trainStep}, and the store of its processes at ${plannedUpTo} and ${recorded}, because one process has continued alone or the store has lost train steps. Continue in one process (mode: both, without --explorers, and with cluster.explorers: 0), or give the new run another name.`,
    { code: 'RUN_NOT_RESUMABLE' },
  );
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
  const stored = uidsOf(batch);
  shared.pending = {
    discarded: [...pending.discarded, ...leftOut(collected, batch)],
    made: [...pending.made, ...without(stored, new Set(collected.map((each) => each.uid)))],
  };
  await inner.put(batch, { ...state, pending: shared.pending });
  onStored(step);
}

/**
 * Returns those collected experiences whose uids are not in `batch`, the output of the experience
 * pipeline, each with the reason.
 */
function leftOut(
  collected: readonly Collected[],
  batch: readonly Experience[],
): readonly Discarded[] {
  const stored = new Set(uidsOf(batch));
  const calls = new Set(
    batch.flatMap((each) => spansOf(each).map(({ step }) => callKey(runKey(each.eid), step))),
  );
  return collected
    .filter((each) => !stored.has(each.uid))
    .map(({ uid, run, call, reason }) => ({
      uid,
      reason: calls.has(callKey(run, call)) ? 'merged' : reason,
    }));
}

const callKey = (run: string, call: number): string => `${run} ${call}`;

const without = (uids: readonly string[], others: ReadonlySet<string>): readonly string[] =>
  uids.filter((each) => !others.has(each));

const withoutUids = (
  discarded: readonly Discarded[],
  uids: ReadonlySet<string>,
): readonly Discarded[] => discarded.filter((each) => !uids.has(each.uid));

/**
 * Restores the pending values that the stopped process had stored, except those that were recorded
 * after that.
 */
async function restore(shared: Shared): Promise<void> {
  const { inner, store, onStored } = shared;
  const state = (await inner.explorerState()) as State | undefined;
  if (!state) return;
  onStored(state.step);
  const { discarded, made } = state.pending ?? nothing;
  const unused = await store.filterUnused(discarded.map((each) => each.uid));
  shared.pending = { discarded: discarded.filter((each) => unused.has(each.uid)), made };
}

function sharedLease(shared: Shared, lease: Lease): Lease {
  return {
    ...lease,
    acknowledge: async (trainStep, advantages) => {
      const before = shared.records.get(trainStep);
      if (before) {
        assertSame(before, uidsOf(lease.experiences));
        return lease.acknowledge(trainStep, advantages);
      }
      // A batch of a replay buffer can be repeated only if the experience store has recorded it
      // first.
      if (lease.reusable) await lease.acknowledge(trainStep, advantages);
      await record(shared, lease, trainStep);
      if (!lease.reusable) await lease.acknowledge(trainStep, advantages);
    },
  };
}

const uidsOf = (experiences: readonly Experience[]): readonly string[] =>
  experiences.map(({ eid }) => uid(eid));

async function record(shared: Shared, lease: Lease, trainStep: number): Promise<void> {
  const { pending, store, member } = shared;
  const made = new Set(pending.made);
  const { stale = [], reusable = [] } = lease;
  const all = uidsOf(lease.experiences);
  await store.recordTrainStep(member, {
    trainStep,
    trained: without(all, made),
    kept: without(reusable, made),
    discarded: [
      ...pending.discarded,
      ...without(stale, made).map((each) => ({ uid: each, reason: 'stale' })),
    ],
  });
  const again = new Set(reusable);
  const over = new Set([...without(all, again), ...stale]);
  shared.pending = {
    discarded: withoutUids(
      shared.pending.discarded,
      new Set(pending.discarded.map((each) => each.uid)),
    ),
    made: without(shared.pending.made, over),
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
