/** From rewarded calls to experiences in the store, each exactly once. */
import {
  groupBy,
  mean,
  runKey,
  taskKey,
  withFields,
  type Experience,
  type ExperienceStore,
  type MetricSink,
  type Metrics,
} from '@trinity-rft/core';
import type { Batch, RewardedCall, TurnStore } from './turns/turn-store.js';

export interface CommitOptions {
  readonly turns: TurnStore;
  readonly store: Pick<ExperienceStore, 'put' | 'explorerState'>;
  /** Advantages, filters and the shape of what is stored. */
  readonly pipeline: (experiences: readonly Experience[]) => {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
  };
  readonly sink: Pick<MetricSink, 'write'>;
}

export interface CommitResult {
  /** Commits so far that held something. */
  readonly step: number;
  /** Choices of calls that went into this one. */
  readonly calls: number;
  /** Experiences that they became. */
  readonly experiences: number;
}

/**
 * Commits one after the other.
 * @throws what the pipeline or the store throw: the next commit begins with the same calls
 */
export type Commit = () => Promise<CommitResult>;

/**
 * The calls of a commit are fixed under its number first, then stored in one transaction that also
 * holds the number, then settled. A process that ends in between finds out from the store's number
 * which of the two is left to do.
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
  const before = await turns.begun();
  const first = before ? await storeBatch(before, options) : undefined;
  const last = Math.max(await turns.lastStep(), stepOf(await store.explorerState()));
  const batch = await turns.begin(last + 1);
  const second = batch ? await storeBatch(batch, options) : undefined;
  return {
    step: batch?.step ?? last,
    calls: (before?.calls.length ?? 0) + (batch?.calls.length ?? 0),
    experiences: (first ?? 0) + (second ?? 0),
  };
}

/** Resolves with the number of experiences. */
async function storeBatch(
  batch: Batch,
  { turns, store, pipeline, sink }: CommitOptions,
): Promise<number> {
  const { step } = batch;
  const recorded = toExperiences(batch);
  const { experiences, metrics } = pipeline(recorded);
  // Otherwise the process ended after it was stored.
  if (stepOf(await store.explorerState()) < step) {
    sink.write({ role: 'explorer', step, metrics: { ...commitMetrics(recorded), ...metrics } });
    await store.put(experiences, {
      step,
      policyVersion: recorded.reduce((a, { policyVersion: b }) => Math.max(a, b), 0),
      feed: {},
    });
  }
  await turns.settle(step);
  return experiences.length;
}

const stepOf = (state: Readonly<Record<string, unknown>> | undefined): number =>
  Number(state?.['step'] ?? 0);

/**
 * The commit is the batch; the calls of a run are its steps, in the order in which they were
 * served.
 */
function toExperiences({ step, calls }: Batch): readonly Experience[] {
  const steps = new Map<string, readonly string[]>();
  for (const [key, members] of groupBy(calls, runOf))
    steps.set(key, [...new Set(members.map(({ msgId }) => msgId))]);
  return calls.map((call) =>
    withFields(call.experience, {
      eid: {
        batch: step,
        task: call.task,
        run: call.run,
        step: steps.get(runOf(call))!.indexOf(call.msgId),
        suffix: String(call.choice),
      },
      reward: call.reward,
      info: { ...call.experience.info, msgId: call.msgId, session: call.session },
    }),
  );
}

const runOf = ({ task, run }: RewardedCall): string => JSON.stringify([task, run]);

function commitMetrics(experiences: readonly Experience[]): Metrics {
  const rewards = experiences.map(({ reward }) => reward!);
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
