/** The trainer's options, from the configuration of a stage. */
import type { OptimizerConfig, StageConfig } from '@trinity-rft/config';
import {
  ConfigError,
  type Algorithm,
  type Engine,
  type MetricSink,
  type ValueEngine,
} from '@trinity-rft/core';
import type {
  CriticOptions,
  ScheduleOptions,
  TrainerOptions,
  TrainerState,
} from '@trinity-rft/trainer';
import type { StageContext } from '../context/stage-context.js';
import type { Sampling } from './data/sample-strategy.js';

interface TrainerParts {
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly algorithm: Algorithm;
  readonly sampling: Pick<Sampling, 'source' | 'filter'>;
  /** Of the checkpoint that the stage goes on from. */
  readonly state: TrainerState;
  /** As far as it is known; a bound only where `trainer.total_steps` or supervised data say so. */
  readonly totalSteps: number | undefined;
  readonly sink: MetricSink;
}

export function trainerOptions(
  context: StageContext,
  { engine, critic, algorithm, sampling, state, totalSteps, sink }: TrainerParts,
): Omit<TrainerOptions, 'signal'> {
  const { stage, runtime } = context;
  const { optimizer } = stage.algorithm;
  const { saveInterval, totalSteps: bound } = stage.trainer;
  const checkpointsToKeep = checkpointsNeeded(stage);
  return {
    engine: engine.trainer,
    ...(critic && { critic: criticOptions(stage, critic, totalSteps) }),
    algorithm,
    state,
    batchSize: stage.buffer.trainBatchSize,
    groupSize: stage.algorithm.repeatTimes,
    source: sampling.source,
    ...(sampling.filter && { filter: sampling.filter }),
    ...(bound !== undefined && { totalSteps: bound }),
    schedule: scheduleOf('algorithm.optimizer', optimizer, totalSteps),
    optimizer: updateOf(optimizer),
    saveInterval: saveInterval ?? 0,
    checkpointRoot: stage.jobDirectory,
    reportWaitMs: reportWaitOf(stage),
    ...(checkpointsToKeep !== undefined && { checkpointsToKeep }),
    maxResponseTokens: stage.model.maxResponseTokens,
    sink,
    runtime,
  };
}

function criticOptions(
  { trainer }: StageConfig,
  engine: ValueEngine,
  totalSteps: number | undefined,
): CriticOptions {
  const { optimizer, warmupSteps } = trainer.critic;
  return {
    engine,
    schedule: scheduleOf('trainer.trainer_config.critic.optim', optimizer, totalSteps),
    optimizer: updateOf(optimizer),
    warmupSteps,
  };
}

const updateOf = ({
  betas,
  weightDecay,
  clipGradNorm,
}: OptimizerConfig): CriticOptions['optimizer'] => ({
  betas,
  weightDecay,
  clipGradNorm,
});

/** @throws ConfigError when the schedule depends on a number of steps that nobody knows */
function scheduleOf(
  section: string,
  optimizer: OptimizerConfig,
  totalSteps: number | undefined,
): ScheduleOptions {
  const {
    lr: learningRate,
    lrSchedulerType: kind,
    lrWarmupSteps,
    lrWarmupStepsRatio,
    minLrRatio: minRatio,
  } = optimizer;
  const byRatio = lrWarmupSteps === undefined && lrWarmupStepsRatio > 0;
  if (totalSteps === undefined && (kind === 'cosine' || byRatio)) {
    throw new ConfigError(
      `${section}: ${kind === 'cosine' ? 'lr_scheduler_type cosine' : 'lr_warmup_steps_ratio'} needs the number of train steps, which depends on how many calls the runs will make. Set trainer.total_steps${byRatio ? ', or lr_warmup_steps' : ''}.`,
      { code: 'SCHEDULE_NEEDS_STEPS' },
    );
  }
  const warmupSteps = lrWarmupSteps ?? Math.floor(lrWarmupStepsRatio * (totalSteps ?? 0));
  return {
    learningRate,
    kind,
    warmupSteps,
    minRatio,
    ...(totalSteps !== undefined && { totalSteps }),
  };
}

/**
 * While a stage runs in the fixed style it can only go on from a checkpoint that is not past the
 * explorer's version, and the trainer may be a whole interval past it: that many are kept, whatever
 * `max_checkpoints_to_keep` says, until the stage has ended.
 */
function checkpointsNeeded({ mode, trainer, synchronizer }: StageConfig): number | undefined {
  const { saveInterval = Infinity, maxCheckpointsToKeep } = trainer;
  const { syncStyle, syncInterval, syncOffset } = synchronizer;
  if (
    maxCheckpointsToKeep === undefined ||
    mode !== 'both' ||
    syncStyle !== 'fixed' ||
    (syncInterval === 1 && syncOffset === 0)
  )
    return maxCheckpointsToKeep;
  return Math.max(maxCheckpointsToKeep, Math.ceil(syncInterval / saveInterval) + 1);
}

/** Stored rows are there at once; only an explorer can keep the trainer waiting. */
function reportWaitOf({ buffer }: StageContext['stage']): number {
  const config = buffer.trainerInput.experienceBuffer;
  return config.storageType === 'file' ? defaultReportWaitMs : config.maxReadTimeoutMs;
}

const defaultReportWaitMs = 60_000;
