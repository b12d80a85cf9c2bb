/** Implements the trainer of a training run whose rollouts are made by other processes. */
import { rm } from 'node:fs/promises';
import type { StageConfig } from '@trinity-rft/config';
import { InvariantError, type Runtime } from '@trinity-rft/core';
import type { MemberInfo, RunStore } from '@trinity-rft/core/store';
import type { RunSide } from '../../assembly/explorer-options.js';
import type { StageResult } from '../../context/stage-context.js';
import type { RemoteExploration } from '../both/open.js';
import { withForwardedRewards } from './forward-rewards.js';
import { lookEveryMs } from './open-store.js';
import { publishingTransport, weightsRoot } from './publish-weights.js';
import { remoteTasks } from './remote-tasks.js';
import { joinRun, type JoinedRun } from './join-run.js';
import { shareStore } from './share-store.js';

export interface TrainBesideOptions extends Pick<MemberInfo, 'agreement'> {
  readonly store: RunStore;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
}

/**
 * Joins the training run and trains.
 * @throws BufferError `MEMBER_ALIVE` when the training run already has a trainer, `MEMBER_FENCED`
 * when another process has replaced this trainer
 */
export async function trainBeside(
  stage: StageConfig,
  { store, agreement, runtime, signal }: TrainBesideOptions,
  train: (remote: RemoteExploration, joined: JoinedRun) => Promise<StageResult>,
): Promise<StageResult> {
  const progress: Progress = { version: 0, exploreStep: 0 };
  const { clock, logger } = runtime;
  const state = () => ({ version: progress.version, facts: { exploreStep: progress.exploreStep } });
  const own = { role: 'trainer', name: 'trainer', agreement } as const;
  const joined = await joinRun({ ...own, store, clock, logger, state, signal });
  try {
    const remote = await remoteExploration(stage, { store, joined, progress, runtime });
    const result = await train(remote, joined);
    if (!result.interrupted) {
      await store.finishRun(joined.member, { trainStep: result.trainStep });
      await rm(weightsRoot(stage), { recursive: true, force: true });
    }
    return result;
  } finally {
    await joined.leave();
  }
}

interface Progress {
  /** Version of the weights for which explore steps are planned from now on. */
  version: number;
  /** The last explore step whose experiences are stored. */
  exploreStep: number;
}

interface RunParts {
  readonly store: RunStore;
  readonly joined: JoinedRun;
  readonly progress: Progress;
  readonly runtime: Runtime;
}

async function remoteExploration(
  stage: StageConfig,
  { store, joined, progress, runtime }: RunParts,
): Promise<RemoteExploration> {
  const { member } = joined;
  const { clock } = runtime;
  const version = () => progress.version;
  const { jobDirectory, explorer } = stage;
  const { overRollout } = explorer;
  const remote = await remoteTasks({ store, joined, version, overRollout, clock, lookEveryMs });
  const takeCollected = (step: number) => remote.takeCollected(step);
  const onStored = (step: number): void => {
    progress.exploreStep = step;
  };
  const onAdopt = (version: number): void => {
    progress.version = version;
  };
  const runs: RunSide = {
    createModel: () => {
      throw new InvariantError('Runs are made by explorers.', { code: 'RUNS_ELSEWHERE' });
    },
    policyVersion: () => progress.version,
    runTasks: (tasks, signal) => remote.run(tasks, signal),
  };
  return {
    share: (inner) =>
      withForwardedRewards(
        shareStore(inner, { store, member, jobDirectory, takeCollected, onStored }),
        {
          store,
          member,
          exploreStep: () => progress.exploreStep,
          runtime,
          everyMs: lookEveryMs,
          signal: joined.lost,
        },
      ),
    openExploreSide: async ({ engine, format }) => {
      const { maxModelLen } = engine.sampler;
      const own = { maxModelLen, onAdopt };
      const transport = publishingTransport({ stage, store, member, engine, format, ...own });
      return { runs, transport, failed: joined.lost };
    },
  };
}
