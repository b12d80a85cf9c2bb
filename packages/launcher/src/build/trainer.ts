/** The trainer's options, from the configuration of a stage. */
import type { Algorithm, Engine, MetricSink } from '@trinity-rft/core';
import type { TrainerOptions } from '@trinity-rft/trainer';
import type { StageContext } from '../context.js';

interface TrainerParts {
  readonly engine: Engine;
  readonly algorithm: Algorithm;
  /** As far as it is known; a bound only where `trainer.total_steps` or supervised data say so. */
  readonly totalSteps: number | undefined;
  readonly sink: MetricSink;
}

export function trainerOptions(
  context: StageContext,
  { engine, algorithm, totalSteps, sink }: TrainerParts,
): Omit<TrainerOptions, 'source' | 'signal'> {
  const { stage, runtime } = context;
  const { optimizer } = stage.algorithm;
  const { saveInterval, maxCheckpointsToKeep, totalSteps: bound } = stage.trainer;
  return {
    engine: engine.trainer,
    algorithm,
    batchSize: stage.buffer.trainBatchSize,
    ...(bound !== undefined && { totalSteps: bound }),
    schedule: {
      learningRate: optimizer.lr,
      kind: optimizer.lrSchedulerType,
      warmupSteps: optimizer.lrWarmupSteps ?? Math.floor(optimizer.lrWarmupStepsRatio * (totalSteps ?? 0)),
      minRatio: optimizer.minLrRatio,
      ...(totalSteps !== undefined && { totalSteps }),
    },
    optimizer: { betas: optimizer.betas, weightDecay: optimizer.weightDecay, clipGradNorm: optimizer.clipGradNorm },
    saveInterval: saveInterval ?? 0,
    checkpointRoot: stage.jobDirectory,
    reportWaitMs: reportWaitOf(stage),
    ...(maxCheckpointsToKeep !== undefined && { checkpointsToKeep: maxCheckpointsToKeep }),
    maxResponseTokens: stage.model.maxResponseTokens,
    sink,
    runtime,
  };
}

/** Stored rows are there at once; only an explorer can keep the trainer waiting. */
function reportWaitOf({ buffer }: StageContext['stage']): number {
  const config = buffer.trainerInput.experienceBuffer;
  return config.storageType === 'file' ? defaultReportWaitMs : config.maxReadTimeoutMs;
}

const defaultReportWaitMs = 60_000;
