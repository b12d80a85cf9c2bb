/**
 * Implements an explorer of a training run with several processes. It leases tasks and samples with
 * published weights.
 */
import type { StageConfig } from '@trinity-rft/config';
import type { Runtime } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import type { RunStore } from '@trinity-rft/core/store';
import { exploreTasks, type ExploreTasksOptions } from '@trinity-rft/explorer/internal';
import { unlessEngineFails } from '../../assembly/models/engine.js';
import { followWeights, type FollowOptions } from './follow-weights.js';
import { lookEveryMs } from './open-store.js';
import { createExplorerView } from './explorer-view.js';
import type { JoinedRun } from './join-run.js';

export interface ExploreLeasedOptions
  extends
    Pick<ExploreTasksOptions, 'taskOf' | 'startTask' | 'onResult' | 'signal'>,
    Pick<FollowOptions, 'scratch' | 'onTaken' | 'withoutTrainer'> {
  readonly store: RunStore;
  readonly joined: JoinedRun;
  readonly sampler: Sampler;
  /**
   * Signal that aborts when this explorer cannot continue, because its engine failed or another
   * process replaced it.
   */
  readonly lost: AbortSignal;
  /**
   * Returns true if all explore steps were explored without a trainer. @default undefined: there is
   * always a trainer
   */
  readonly isDone?: () => boolean;
}

/**
 * Makes the rollouts of leased tasks until the trainer ends the training run, or until all steps
 * are explored if there is no trainer. Resolves with the last train step of the training run.
 * @throws CancelledError if stopped; SyncError if weights are refused; the reason of `lost` if that
 * signal aborts
 */
export async function exploreLeased(
  stage: StageConfig,
  { clock, logger }: Runtime,
  {
    store,
    joined,
    sampler,
    lost,
    scratch,
    onTaken,
    withoutTrainer,
    isDone,
    ...work
  }: ExploreLeasedOptions,
): Promise<number> {
  const { member } = joined;
  const { syncStyle } = stage.synchronizer;
  const view = createExplorerView({ store, joined, stage, clock, isDone });
  const weights = followWeights({
    store,
    member,
    sampler,
    run: stage.name,
    scratch,
    waitsForRuns: syncStyle !== 'fully_async',
    logger,
    onTaken,
    withoutTrainer,
    tolerance: stage.sampler?.tolerance,
    keepsFiles: stage.sampler !== undefined,
  });
  await unlessEngineFails(lost, () =>
    exploreTasks({
      ...work,
      store: view.store,
      member,
      weights,
      mayBeNewer: syncStyle !== 'fixed',
      mayCutOff: stage.explorer.overRollout.ratio > 0,
      room: view.room,
      ended: view.ended,
      lookEveryMs,
    }),
  ).finally(view.close);
  return view.trainStep();
}
