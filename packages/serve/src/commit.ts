/**
 * Turns rewarded calls into experiences in the experience store. Each call is used exactly once.
 */
import {
  runKey,
  type Experience,
  type MetricSink,
  type Metrics,
  groupBy,
  mean,
  taskKey,
  withFields,
} from '@trinity-rft/core';
import { commitIn, type ExperienceStore, type JsonState } from '@trinity-rft/core/store';
import { placesOf } from './attempts.js';
import type { Batch, TurnStore } from './turns/turn-store.js';

export interface CommitOptions {
  readonly turns: TurnStore;
  /**
   * Store of the experiences. If it has no `lastCommit`, the number of the last commit is read from
   * the explorer's state.
   */
  readonly store: Pick<ExperienceStore, 'put' | 'explorerState'> &
    Partial<Pick<ExperienceStore, 'lastCommit'>>;
  /**
   * True if another process trains. It may also explore, so the explorer's state in the store is
   * not changed.
   * @default false: a commit also counts as the next explore step
   */
  readonly isBeside?: boolean;
  /** Processes the experiences before they are stored: computes advantages and filters. */
  readonly pipeline: (experiences: readonly Experience[]) => {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
  };
  readonly sink: Pick<MetricSink, 'write'>;
}

export interface CommitResult {
  /** Number of commits so far, including this one. Commits without calls are not counted. */
  readonly step: number;
  /** Number of rewarded choices in this commit. A call may have several of them. */
  readonly calls: number;
  /** Number of experiences that remained after the pipeline and were stored. */
  readonly experiences: number;
}

/**
 * Commits the rewarded calls. If called during a commit, waits until that commit has ended.
 * @throws the error of the pipeline or the store; the next commit then starts with the same calls
 */
export type Commit = () => Promise<CommitResult>;

/**
 * Creates the commit function. A commit puts the rewarded calls into a numbered batch, stores the
 * experiences and this number in one transaction, and then finishes the batch. If the process ends
 * before all of this is done, the next commit compares the number of the batch with the number in
 * the store, and does what is missing. A process writes the metrics of a batch only once. If
 * another process finishes the batch later, it writes them again.
 */
export function createCommit(options: CommitOptions): Commit {
  let last: Promise<unknown> = Promise.resolve();
  let written = 0;
  const write: Parts['write'] = (number, record) => {
    if (number <= written) return;
    options.sink.write(record);
    written = number;
  };
  return () => {
    const next = last.then(() => commit({ ...options, write }));
    last = next.catch(() => undefined);
    return next;
  };
}

interface Parts extends CommitOptions {
  /** Writes the metrics of the commit with this number, if they are not written yet. */
  readonly write: (number: number, record: Parameters<MetricSink['write']>[0]) => void;
}

async function commit(options: Parts): Promise<CommitResult> {
  const { turns, store } = options;
  const before = await turns.unfinishedBatch();
  const first = before ? await storeBatch(before, options) : undefined;
  const last = Math.max(await turns.lastStep(), await lastCommit(store));
  const batch = await turns.startBatch(last + 1);
  const second = batch ? await storeBatch(batch, options) : undefined;
  return {
    step: batch?.step ?? last,
    calls: (before?.calls.length ?? 0) + (batch?.calls.length ?? 0),
    experiences: (first ?? 0) + (second ?? 0),
  };
}

/** Stores the experiences of a batch and finishes the batch. Returns the number of experiences. */
async function storeBatch(
  batch: Batch,
  { turns, store, isBeside, pipeline, write }: Parts,
): Promise<number> {
  const { step: commit } = batch;
  const recorded = toExperiences(batch);
  const { experiences, metrics } = pipeline(recorded);
  // An earlier process may have stored the batch and ended before finishing it.
  if ((await lastCommit(store)) < commit) {
    // The position in the tasks stays: training on tasks can continue where it was.
    const state = isBeside ? undefined : servedState(await store.explorerState(), recorded);
    await store.put(experiences, state && { ...state, commit }, commit);
  }
  const step = isBeside ? commit : Number((await store.explorerState())?.['step'] ?? commit);
  // After the experiences are stored: if that fails, the next commit repeats the step.
  const all = { ...commitMetrics(recorded), ...metrics };
  write(commit, { role: 'explorer', step, metrics: all });
  await turns.finishBatch(commit);
  return experiences.length;
}

/**
 * Returns the state of an explorer after a commit as its next explore step. Since the process that
 * commits also trains, the next explore step continues from its newest weights.
 */
function servedState(before: JsonState = { feed: {} }, recorded: readonly Experience[]): JsonState {
  const versions = [before['policyVersion'], ...recorded.map((each) => each.policyVersion)];
  const policyVersion = versions.reduce<number>((a, b) => Math.max(a, Number(b ?? 0)), 0);
  return { ...before, step: Number(before['step'] ?? 0) + 1, policyVersion, served: true };
}

const lastCommit = async (store: CommitOptions['store']): Promise<number> =>
  (await store.lastCommit?.()) ?? commitIn(await store.explorerState());

/**
 * Converts calls to experiences. The calls that belong to one attempt at a task become the steps of
 * a rollout, in the order in which they were served.
 */
function toExperiences({ step, calls }: Batch): readonly Experience[] {
  const places = placesOf(calls);
  return calls.map((call) => {
    const { experience, msgId, session, task, choice, reward } = call;
    const place = places.get(call) ?? { run: 0, step: 0 };
    return withFields(experience, {
      // No explore step of a run on tasks has such a batch.
      eid: { batch: `c${step}`, task, ...place, suffix: String(choice) },
      reward,
      info: { ...experience.info, msgId, session },
    });
  });
}

function commitMetrics(experiences: readonly Experience[]): Metrics {
  const rewards = experiences.map(({ reward = 0 }) => reward);
  const versions = experiences.map(({ policyVersion }) => policyVersion);
  return {
    'rollout/reward/mean': mean(rewards),
    'rollout/reward/max': rewards.reduce((a, b) => Math.max(a, b)),
    'rollout/reward/min': rewards.reduce((a, b) => Math.min(a, b)),
    'rollout/model_version': mean(versions),
    'rollout/tasks': groupBy(experiences, ({ eid }) => taskKey(eid)).size,
    'rollout/runs/ok': groupBy(experiences, ({ eid }) => runKey(eid)).size,
    'rollout/calls': experiences.length,
  };
}
