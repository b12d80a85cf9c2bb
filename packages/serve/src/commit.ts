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
import type { ExperienceStore } from '@trinity-rft/core/store';
import { placesOf } from './attempts.js';
import type { Batch, TurnStore } from './turns/turn-store.js';

export interface CommitOptions {
  readonly turns: TurnStore;
  readonly store: Pick<ExperienceStore, 'put' | 'explorerState' | 'lastCommit'>;
  /**
   * True if another process trains. It may also explore, so the explorer's state in the store is
   * not changed.
   * @default false: a commit counts as an explore step
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
  const sink: CommitOptions['sink'] = {
    write: (record) => {
      if (record.step <= written) return;
      options.sink.write(record);
      written = record.step;
    },
  };
  return () => {
    const next = last.then(() => commit({ ...options, sink }));
    last = next.catch(() => undefined);
    return next;
  };
}

async function commit(options: CommitOptions): Promise<CommitResult> {
  const { turns, store, isBeside } = options;
  const before = await turns.unfinishedBatch();
  const first = before ? await storeBatch(before, options) : undefined;
  const explored = isBeside ? undefined : await store.explorerState();
  const last = Math.max(
    await turns.lastStep(),
    await store.lastCommit(),
    Number(explored?.['step'] ?? 0),
  );
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
  { turns, store, isBeside, pipeline, sink }: CommitOptions,
): Promise<number> {
  const { step } = batch;
  const recorded = toExperiences(batch, isBeside);
  const { experiences, metrics } = pipeline(recorded);
  // An earlier process may have stored the batch and ended before finishing it.
  if ((await store.lastCommit()) < step) {
    const before = isBeside ? undefined : ((await store.explorerState()) ?? { feed: {} });
    const versions = [before?.['policyVersion'], ...recorded.map((each) => each.policyVersion)];
    const policyVersion = versions.reduce<number>((a, b) => Math.max(a, Number(b ?? 0)), 0);
    // The position in the tasks stays: training on tasks can continue where it was.
    await store.put(experiences, before && { ...before, step, policyVersion }, step);
  }
  // After the experiences are stored: if that fails, the next commit repeats the step.
  sink.write({ role: 'explorer', step, metrics: { ...commitMetrics(recorded), ...metrics } });
  await turns.finishBatch(step);
  return experiences.length;
}

/**
 * Converts calls to experiences. The calls that belong to one attempt at a task become the steps of
 * a rollout, in the order in which they were served.
 */
function toExperiences({ step, calls }: Batch, isBeside = false): readonly Experience[] {
  const places = placesOf(calls);
  // An explorer beside numbers its tasks, and its steps as commits are numbered.
  const idOf = (task: string): string =>
    isBeside && /^\d+$/.test(task) ? JSON.stringify(task) : task;
  return calls.map((call) => {
    const { experience, msgId, session, task, choice, reward } = call;
    const place = places.get(call) ?? { run: 0, step: 0 };
    return withFields(experience, {
      eid: { batch: step, task: idOf(task), ...place, suffix: String(choice) },
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
