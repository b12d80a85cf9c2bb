/** Mode `both`: explorer and trainer side by side, and what happens when one of them ends, fails or is interrupted. */
import { createAlgorithm } from '@trinity-rft/algorithm';
import { CancelledError, type Engine, type ExperienceStore, type MetricSink } from '@trinity-rft/core';
import { createExplorer, type Explorer, type ExplorerState } from '@trinity-rft/explorer';
import { createSynchronizer, type Synchronizer } from '@trinity-rft/synchronizer';
import { createTrainer, listCheckpoints, verifyCheckpoint, type Trainer, type TrainerResult } from '@trinity-rft/trainer';
import { openChatFormat } from '../build/chat-format.js';
import { disposable } from '../build/disposable.js';
import { openEngine } from '../build/engine.js';
import { explorerOptions } from '../build/explorer.js';
import { openExperienceStore } from '../build/experience-store.js';
import { openTasks, type StageTasks } from '../build/tasks.js';
import { trainerOptions } from '../build/trainer.js';
import { createTransport } from '../build/transport.js';
import type { StageContext, StageResult } from '../context.js';
import { findResumePoint, type ResumePoint } from '../resume.js';

export async function runBoth(context: StageContext): Promise<StageResult> {
  const { stage, runtime } = context;
  const format = await openChatFormat(context);
  await using tasks = await openTasks(context);
  await using store = disposable(openExperienceStore(stage));
  const algorithm = createAlgorithm(stage.algorithm, stage.seed);
  await using engine = disposable(await openEngine(context, { reference: algorithm.needs.referenceLogprobs, format }));

  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  let trainerWaits = false;
  const synchronizer = createSynchronizer({
    style: stage.synchronizer.syncStyle,
    interval: stage.synchronizer.syncInterval,
    offset: stage.synchronizer.syncOffset,
    timeoutMs: stage.synchronizer.syncTimeoutMs,
    transport: createTransport(stage, engine),
    starved: async () => trainerWaits && (await hasTooFew(store, stage.buffer.trainBatchSize)),
    clock: runtime.clock,
    logger: runtime.logger,
  });
  const state = (await store.explorerState()) as ExplorerState | undefined;
  const point = await resumeTrainer(context, { engine, store, synchronizer, state });
  const sink = context.openSink({ explorer: state?.step ?? 0, trainer: point.trainStep });
  const totalSteps = totalTrainSteps(context, tasks);
  context.expectSteps(totalSteps);

  const trainer = createTrainer({
    ...trainerOptions(context, { engine, algorithm, totalSteps, sink }),
    source: store,
    sync: {
      trainStepDone: (step, abort) => synchronizer.trainStepDone(step, abort),
      setTrainerWaiting: (waiting) => {
        trainerWaits = waiting;
        synchronizer.setTrainerWaiting(waiting);
      },
    },
    signal,
  });
  const explorerParts = {
    ...explorerOptions(context, { sampler: engine.sampler, format, tasks, sink }),
    store,
    sync: synchronizer,
    ...(algorithm.advantage && { advantage: algorithm.advantage }),
  };
  const explorer = createExplorer({ ...explorerParts, signal });
  const trained = await superviseBoth({ context, explorer, trainer, store, synchronizer, state, point, stop });
  if (!trained.interrupted) {
    // The end of training stopped the other explorer; this one is stopped by an interrupt only.
    const evaluator = createExplorer({ ...explorerParts, signal: context.signal });
    await evaluateAtEnd(context, { evaluator, engine, tasks, trained, store, sink });
  }
  return { interrupted: trained.interrupted, trainStep: trained.step, checkpoint: trained.checkpoint.directory };
}

/** True when the trainer's next batch is not there and not on its way. */
async function hasTooFew(store: ExperienceStore, trainBatchSize: number): Promise<boolean> {
  const { waiting, leased } = await store.counts();
  return leased === 0 && waiting < trainBatchSize;
}

interface ResumeParts {
  readonly engine: Engine;
  readonly store: ExperienceStore;
  readonly synchronizer: Synchronizer;
  readonly state: ExplorerState | undefined;
}

/** Puts trainer, store and sampler where the run goes on. */
async function resumeTrainer(context: StageContext, { engine, store, synchronizer, state }: ResumeParts): Promise<ResumePoint> {
  const { stage, runtime } = context;
  const { syncStyle: style, syncInterval: interval } = stage.synchronizer;
  const checkpoints = await listCheckpoints(stage.jobDirectory);
  const point = findResumePoint({ checkpoints, explorer: state, style, interval, isBoundary: (step) => synchronizer.isBoundary(step) });
  if (point.checkpoint) {
    await verifyCheckpoint(point.checkpoint);
    await engine.trainer.load(point.checkpoint.directory);
  }
  if (state || point.checkpoint) runtime.logger.info(`Resumes at explore step ${state?.step ?? 0} and train step ${point.trainStep}.`);
  await store.rollback(point.trainStep);
  await synchronizer.start({ trainStep: point.trainStep, explorerVersion: point.explorerVersion });
  if (!point.catchUp) await createTransport(stage, engine).adopt(point.trainStep);
  return point;
}

/** Train steps of the whole stage, as far as the configuration and the data tell. */
function totalTrainSteps({ stage }: StageContext, tasks: StageTasks): number | undefined {
  const { trainer, buffer, algorithm } = stage;
  if (trainer.totalSteps !== undefined) return trainer.totalSteps;
  return Math.ceil((tasks.exploreSteps * buffer.batchSize * algorithm.repeatTimes) / buffer.trainBatchSize);
}

interface Supervised {
  readonly context: StageContext;
  readonly explorer: Explorer;
  readonly trainer: Trainer;
  readonly store: ExperienceStore;
  readonly synchronizer: Synchronizer;
  readonly state: ExplorerState | undefined;
  readonly point: ResumePoint;
  readonly stop: AbortController;
}

/** The first failure of either side reaches the other at once and is what the run fails with. */
async function superviseBoth({ context, explorer, trainer, store, synchronizer, state, point, stop }: Supervised): Promise<TrainerResult> {
  let firstCause: Error | undefined;
  const fail = (error: Error): void => {
    firstCause ??= error;
    store.fail(error);
    synchronizer.fail(error);
    stop.abort(error);
  };
  const explore = async (): Promise<void> => {
    try {
      if (point.catchUp) await synchronizer.exploreBoundary(stop.signal);
      await explorer.run(state);
      store.finish();
    } catch (error) {
      if (!isShutdown(error, context.signal, stop.signal)) fail(error as Error);
    } finally {
      synchronizer.explorerStopped();
    }
  };
  const train = async (): Promise<TrainerResult | undefined> => {
    try {
      return await trainer.run(point.trainStep);
    } catch (error) {
      fail(error as Error);
      return undefined;
    } finally {
      synchronizer.trainerStopped();
      stop.abort(new CancelledError('The trainer has ended.', { reason: 'shutdown' }));
    }
  };
  const [trained] = await Promise.all([train(), explore()]);
  if (firstCause) throw firstCause;
  return { ...trained!, interrupted: trained!.interrupted || context.signal.aborted };
}

function isShutdown(error: unknown, ...signals: readonly AbortSignal[]): boolean {
  return error instanceof CancelledError && signals.some((signal) => signal.aborted);
}

interface FinalEvaluation {
  readonly evaluator: Explorer;
  readonly engine: Engine;
  readonly tasks: StageTasks;
  readonly trained: TrainerResult;
  readonly store: ExperienceStore;
  readonly sink: MetricSink;
}

/** Scores the last weights, which no evaluation within the run has seen. */
async function evaluateAtEnd({ stage }: StageContext, { evaluator, engine, tasks, trained, store, sink }: FinalEvaluation): Promise<void> {
  if (tasks.evalSets.length === 0) return;
  const transport = createTransport(stage, engine);
  await transport.publish(trained.step);
  await transport.adopt(trained.step);
  const state = (await store.explorerState()) as ExplorerState | undefined;
  const step = (state?.step ?? 0) + 1;
  sink.write({ role: 'explorer', step, metrics: await evaluator.evaluate(step) });
}
