/** Fixtures for the cases of the run-store contract: workers, plans and results. */
import { createExperience, type Experience } from '@trinity-rft/core';
import type {
  ExplorePlan,
  LeasedTask,
  Membership,
  PublishedWeights,
  RunStore,
  TaskResult,
} from '@trinity-rft/core/store';
import { onTestFinished } from 'vitest';

/** An empty database in which a test opens a run store, as several processes would. */
export interface RunStoreUnderTest {
  /**
   * Opens a store for the run, like another process.
   * @param onWrite called before each write transaction, with a function that sends this
   * transaction a second time
   */
  open(onWrite?: (copy: () => Promise<unknown>) => void): Promise<RunStore>;
  /** Opens a store for another run in the same database. */
  openOther(): Promise<RunStore>;
  /** Advances the clock that decides when leases expire by `ms` milliseconds. */
  pass(ms: number): Promise<void>;
  readonly leaseMs: number;
}

/** Creates an empty database. Called once per test. */
export type CreateRunStore = () => Promise<RunStoreUnderTest>;

export async function opened(test: RunStoreUnderTest): Promise<RunStore> {
  const store = await test.open();
  onTestFinished(() => store.close());
  return store;
}

/**
 * Opens a store. `newest()` returns a function that sends the latest write transaction of the store
 * a second time.
 */
export async function openedWithCopies(
  test: RunStoreUnderTest,
): Promise<{ readonly store: RunStore; readonly newest: () => () => Promise<unknown> }> {
  let newest = (): Promise<unknown> => Promise.resolve();
  const store = await test.open((copy) => {
    newest = copy;
  });
  onTestFinished(() => store.close());
  return { store, newest: () => newest };
}

export const joinExplorer = (store: RunStore, name = 'explorer'): Promise<Membership> =>
  store.join({ role: 'explorer', name, host: 'here', pid: 1 });

export const joinTrainer = (store: RunStore, name = 'trainer'): Promise<Membership> =>
  store.join({ role: 'trainer', name, host: 'here', pid: 2 });

/** Creates the plan of an explore step with `count` tasks. */
export const planOf = (step: number, count: number): ExplorePlan => ({
  step,
  batches: [
    {
      batch: String(step),
      step,
      isEval: false,
      version: undefined,
      tasks: Array.from({ length: count }, (_, task) => ({
        task,
        taskset: 'sums',
        row: task + 10,
      })),
    },
  ],
  feed: { cursor: step * count },
});

/** Creates the result of a task: two rollouts with one experience each. */
export const resultOf = ({ batch, task }: LeasedTask): TaskResult => ({
  experiences: [0, 1].map((run) => numbered(batch, task, run)),
  outcome: { task },
});

export function numbered(batch: string, task: number, run: number): Experience {
  return createExperience({
    eid: { batch, task, run, step: 0, suffix: 'a' },
    tokens: [1, 2, 3 + task],
    promptLength: 1,
    logprobs: [-0.5, -0.25],
    reward: run,
    policyVersion: 0,
  });
}

/** Leases all open tasks and stores a result for each of them. */
export async function exploreAll(store: RunStore, member: Membership): Promise<void> {
  for (const task of await store.leaseTasks(member, { count: Infinity, maxStep: Infinity }))
    await store.storeResult(member, task, resultOf(task));
}

/** Returns the uids of all experiences that a batch of `count` tasks yields, in order. */
export const uidsOf = (batch: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, task) =>
    [0, 1].map((run) => `${batch}/${task}/${run}/0/a`),
  ).flat();

export const weightsOf = (version: number, digest = `digest ${version}`): PublishedWeights => ({
  version,
  exploredUpTo: version,
  final: false,
  location: { kind: 'store' },
  digest,
  probe: { tokens: [1, 2, 3], promptLength: 1, logprobs: [-1, -2.5] },
});

export const idle = { waits: [], version: 0, facts: {} };
