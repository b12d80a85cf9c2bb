/**
 * Creates the explorer, trainer and synchronizer of a stage, at the point where the stage
 * continues.
 */
import type { StageConfig } from '@trinity-rft/config';
import type { MetricSink, Runtime } from '@trinity-rft/core';
import { trainStepsOf } from '@trinity-rft/config/internal';
import { createExplorer, type Explorer } from '@trinity-rft/explorer';
import { createSynchronizer, type Synchronizer } from '@trinity-rft/synchronizer';
import { createTrainer, type Trainer, type TrainerState } from '@trinity-rft/trainer';
import { explorerOptions } from '../../assembly/explorer-options.js';
import { retention } from '../../assembly/data/retention.js';
import { loadCheckpoint } from '../../assembly/models/load-checkpoint.js';
import { trainerOptions } from '../../assembly/trainer-options.js';
import type { StageContext } from '../../context/stage-context.js';
import type { LoopParts } from './open.js';
import type { Progress } from './progress.js';
import { findResumePoint, type ResumePoint } from './resume-point.js';

export interface Loop {
  readonly explorer: Explorer;
  readonly trainer: Trainer;
  readonly synchronizer: Synchronizer;
  readonly point: ResumePoint;
  readonly sink: MetricSink;
  /** Controller that stops explorer and trainer when it aborts. */
  readonly stop: AbortController;
  /** Creates another explorer from the same parts. `stop` does not stop this explorer. */
  readonly createEvaluator: () => Explorer;
}

export async function assembleLoop(
  context: StageContext,
  parts: LoopParts,
  progress: Progress,
): Promise<Loop> {
  const { stage, runtime, extensions, onProgress, onPause } = context;
  const { store, transport, algorithm, engineFailed, runs } = parts;
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const { watch = (unwatched: Synchronizer) => unwatched } = context;
  const synchronizer = watch(
    createSynchronizer({
      settings: stage.synchronizer,
      transport,
      starved: () => store.starved(),
      oldestUnusedStep: () => store.oldestUnusedStep(),
      releaseUpTo: (exploreStep) => store.releaseUpTo(exploreStep),
      clock: runtime.clock,
      logger: runtime.logger,
    }),
    runs.policyVersion,
  );
  const { point, state } = await resume(stage, runtime, parts, { synchronizer, progress });
  // If no explore step is stored, the evaluation before the first step is repeated as well.
  const sink = context.openSink({
    explorer: progress.explorer?.step ?? -1,
    evaluationDue: progress.explorer?.evaluationDue,
    trainer: point.trainStep,
    hadEnded: context.endedBefore,
  });
  const totalSteps = totalTrainSteps(stage, parts);
  context.expectSteps(totalSteps);
  const trainer = createTrainer({
    ...trainerOptions(stage, runtime, { ...parts, state, totalSteps, sink }),
    sync: synchronizer,
    onCheckpoint: retention(stage, store),
    signal,
  });
  const shared = {
    ...explorerOptions(stage, runtime, extensions, { ...parts, sink, onProgress, onPause }),
    store,
    sync: synchronizer,
    advantage: algorithm.advantage,
  };
  return {
    explorer: createExplorer({ ...shared, signal }),
    trainer,
    synchronizer,
    point,
    sink,
    stop,
    createEvaluator: () =>
      createExplorer({ ...shared, signal: AbortSignal.any([context.signal, engineFailed]) }),
  };
}

interface ResumeParts {
  readonly synchronizer: Synchronizer;
  readonly progress: Progress;
}

/** Sets trainer, store and sampler to the point where the stage continues. */
async function resume(
  { synchronizer: settings }: StageConfig,
  { logger }: Runtime,
  { engine, critic, sampling, store, transport }: LoopParts,
  { synchronizer, progress: { checkpoints, explorer } }: ResumeParts,
): Promise<{ readonly point: ResumePoint; readonly state: TrainerState }> {
  const released = (explorer?.step ?? 0) - settings.syncOffset;
  const firstTrainStepAfter = await store.firstTrainStepAfter(released);
  const point = findResumePoint({ checkpoints, explorer, settings, firstTrainStepAfter });
  const { checkpoint, trainStep } = point;
  const models = { engine: engine.trainer, critic };
  const state = checkpoint ? await loadCheckpoint(checkpoint, models, logger) : {};
  if (explorer || checkpoint)
    logger.info(`Resumes at explore step ${explorer?.step ?? 0} and train step ${trainStep}.`);
  await sampling.source.rollback(trainStep);
  await synchronizer.start({ ...point, storedUpTo: explorer?.step ?? 0 });
  if (explorer?.evaluationDue) synchronizer.hold(explorer.step);
  await transport.adopt(trainStep);
  return { point, state };
}

/**
 * Returns the number of train steps of the whole stage, if every rollout succeeds. Returns
 * undefined if the number depends on model calls or on time.
 */
function totalTrainSteps(
  { trainer, buffer }: StageConfig,
  { tasks }: LoopParts,
): number | undefined {
  if (trainer.totalSteps !== undefined) return trainer.totalSteps;
  const { experienceBuffer } = buffer.trainerInput;
  // With replay, the number of train steps depends on time.
  if (experienceBuffer.storageType !== 'file' && experienceBuffer.replay) return undefined;
  return trainStepsOf(buffer.trainBatch, tasks.exploreSteps);
}
