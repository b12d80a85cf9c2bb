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
import type { Batch, RewardedCall, TurnStore } from './turns/turn-store.js';

export interface CommitOptions {
  readonly turns: TurnStore;
  readonly store: Pick<ExperienceStore, 'put' | 'explorerState'>;
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

/** Stores the experiences of a batch and finishes the batch. Returns the number of experiences. */
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
  }
  // After the experiences are stored: if that fails, the next commit repeats the step.
  sink.write({ role: 'explorer', step, metrics: { ...commitMetrics(recorded), ...metrics } });
  await turns.finishBatch(step);
  return experiences.length;
}

const stepOf = (state: Readonly<Record<string, unknown>> | undefined): number =>
  Number(state?.['step'] ?? 0);

/**
 * Converts calls to experiences. The calls that belong to one attempt at a task become the steps of
 * a rollout, in the order in which they were served.
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

/**
 * For each attempt at a task, returns the step numbers of its calls, keyed by the id of the call.
 * All choices of a call have the same number.
 */
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
