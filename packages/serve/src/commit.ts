/** Turns rewarded calls into experiences of the store, each exactly once. */
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
import type { Batch, RewardedCall, TurnStore } from './turns/turn-store.js';

export interface CommitOptions {
  readonly turns: TurnStore;
  readonly store: Pick<ExperienceStore, 'put' | 'explorerState'>;
  /** Computes advantages, filters, and prepares experiences for the store. */
  readonly pipeline: (experiences: readonly Experience[]) => {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
  };
  readonly sink: Pick<MetricSink, 'write'>;
}

export interface CommitResult {
  /** Number of commits so far, not counting empty commits. */
  readonly step: number;
  /** Number of rewarded choices in this commit. A call may have several choices. */
  readonly calls: number;
  /** Number of experiences that the pipeline made from the calls. */
  readonly experiences: number;
}

/**
 * Commits the rewarded calls. Commits run one after another.
 * @throws the error of the pipeline or the store; the next commit then starts with the same calls
 */
export type Commit = () => Promise<CommitResult>;

/**
 * Creates the commit function. A commit puts the rewarded calls into a numbered batch, stores the
 * experiences and this number in one transaction, and then finishes the batch. If the process ends
 * in between, the next commit compares the number of the batch with the number in the store, and
 * completes the missing steps.
 */
export function createCommit(options: CommitOptions): Commit {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const next = last.then(() => commit(options));
    last = next.catch(() => undefined);
    return next;
  };
}

async function commit(options: CommitOptions): Promise<CommitResult> {
  const { turns, store } = options;
  const before = await turns.unfinishedBatch();
  const first = before ? await storeBatch(before, options) : undefined;
  const last = Math.max(await turns.lastStep(), stepOf(await store.explorerState()));
  const batch = await turns.startBatch(last + 1);
  const second = batch ? await storeBatch(batch, options) : undefined;
  return {
    step: batch?.step ?? last,
    calls: (before?.calls.length ?? 0) + (batch?.calls.length ?? 0),
    experiences: (first ?? 0) + (second ?? 0),
  };
}

/** Stores the experiences of a batch and returns their number. */
async function storeBatch(
  batch: Batch,
  { turns, store, pipeline, sink }: CommitOptions,
): Promise<number> {
  const { step } = batch;
  const recorded = toExperiences(batch);
  const { experiences, metrics } = pipeline(recorded);
  // An earlier process may have stored the batch and ended before finishing it.
  if (stepOf(await store.explorerState()) < step) {
    await store.put(experiences, {
      step,
      policyVersion: recorded.reduce((a, { policyVersion: b }) => Math.max(a, b), 0),
      feed: {},
    });
    // After the experiences are stored: if that fails, the next commit repeats the step.
    sink.write({ role: 'explorer', step, metrics: { ...commitMetrics(recorded), ...metrics } });
  }
  await turns.finishBatch(step);
  return experiences.length;
}

const stepOf = (state: Readonly<Record<string, unknown>> | undefined): number =>
  Number(state?.['step'] ?? 0);

/**
 * Converts calls to experiences. The calls of an attempt become its steps, in the order in which
 * they were served.
 */
function toExperiences({ step, calls }: Batch): readonly Experience[] {
  const steps = stepsByRun(calls);
  return calls.map(({ experience, msgId, session, task, run, choice, reward }) =>
    withFields(experience, {
      eid: {
        batch: step,
        task,
        run,
        step: steps.get(runOf({ task, run }))?.get(msgId) ?? 0,
        suffix: String(choice),
      },
      reward,
      info: { ...experience.info, msgId, session },
    }),
  );
}

/** Numbers the calls of each attempt, keyed by id; the choices of a call share a number. */
function stepsByRun(
  calls: readonly RewardedCall[],
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const runs = new Map<string, Map<string, number>>();
  for (const call of calls) {
    const steps = runs.get(runOf(call)) ?? new Map<string, number>();
    runs.set(runOf(call), steps);
    if (!steps.has(call.msgId)) steps.set(call.msgId, steps.size);
  }
  return runs;
}

const runOf = ({ task, run }: Pick<RewardedCall, 'task' | 'run'>): string =>
  JSON.stringify([task, run]);

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
