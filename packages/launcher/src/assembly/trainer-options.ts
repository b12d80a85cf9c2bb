/** Derives the trainer's options from the configuration of a stage. */
import type { StageConfig } from '@trinity-rft/config';
import { trainStepsOf } from '@trinity-rft/config/internal';
import type { MetricSink, Runtime } from '@trinity-rft/core';
import type { Engine, ValueEngine } from '@trinity-rft/core/engine';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { TrainerOptions, TrainerState } from '@trinity-rft/trainer';
import { batchCount, type Sampling } from './data/sample-strategy.js';

export interface TrainerParts {
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly algorithm: Algorithm;
  readonly sampling: Pick<Sampling, 'source'> & Partial<Pick<Sampling, 'filter'>>;
  /** Trainer state of the checkpoint that the stage continues from. */
  readonly state: TrainerState;
  /** Expected number of train steps, for learning rate schedules; undefined if unknown. */
  readonly totalSteps: number | undefined;
  readonly sink: MetricSink;
}

export function trainerOptions(
  stage: StageConfig,
  runtime: Runtime,
  { engine, critic, algorithm, sampling, state, totalSteps, sink }: TrainerParts,
): Omit<TrainerOptions, 'signal'> {
  return {
    settings: { ...stage.trainer, maxCheckpointsToKeep: checkpointsNeeded(stage) },
    optimizer: stage.algorithm.optimizer,
    trainBatchSize: batchCount(stage),
    repeatTimes: stage.algorithm.repeatTimes,
    isLive: stage.mode === 'both' && (stage.sampler !== undefined || stage.engine === 'tinker'),
    maxResponseTokens: stage.model.maxResponseTokens,
    expectedSteps: totalSteps,
    engine: engine.trainer,
    critic,
    algorithm,
    source: sampling.source,
    filter: sampling.filter,
    state,
    jobDirectory: stage.jobDirectory,
    maxReadTimeoutMs: maxReadTimeoutOf(stage),
    sink,
    runtime,
  };
}

/**
 * Returns the number of checkpoints to keep. In the sync style `fixed`, a stage can only resume
 * from a checkpoint that is not newer than the explorer's weights. Because the trainer may be ahead
 * of these weights by the train steps of a sync interval and of the sync offset, all checkpoints
 * within this distance are kept until the stage ends, even if there are more than
 * `max_checkpoints_to_keep`. If the number of train steps depends on model calls, a resumed stage
 * may have to repeat more train steps.
 */
function checkpointsNeeded({
  mode,
  trainer,
  synchronizer,
  buffer,
}: StageConfig): number | undefined {
  const { saveInterval = Infinity, maxCheckpointsToKeep } = trainer;
  const { syncStyle, explorerSyncInterval, syncOffset } = synchronizer;
  if (
    maxCheckpointsToKeep === undefined ||
    mode !== 'both' ||
    syncStyle !== 'fixed' ||
    (explorerSyncInterval === 1 && syncOffset === 0)
  )
    return maxCheckpointsToKeep;
  const ahead = explorerSyncInterval + syncOffset;
  const trainSteps = trainStepsOf(buffer.trainBatch, ahead) ?? ahead;
  return Math.max(maxCheckpointsToKeep, Math.ceil(trainSteps / saveInterval) + 1);
}

/**
 * Returns the time in ms after which a wait for a batch is logged. Returns the default for a file,
 * because a trainer never waits for its rows.
 */
function maxReadTimeoutOf({ buffer }: StageConfig): number {
  const config = buffer.trainerInput.experienceBuffer;
  return config.storageType === 'file' ? defaultReadTimeoutMs : config.maxReadTimeoutMs;
}

const defaultReadTimeoutMs = 60_000;
