/** Mode `both`: explores and trains, from where the stage was left, to its last evaluation. */
import {
  BufferError,
  ConfigError,
  type Engine,
  type ExperienceSource,
  type ExperienceStore,
  type MetricSink,
  type ValueEngine,
} from '@trinity-rft/core';
import { createExplorer, type Explorer, type ExplorerState } from '@trinity-rft/explorer';
import { createSynchronizer, type Synchronizer } from '@trinity-rft/synchronizer';
import {
  createTrainer,
  listCheckpoints,
  loadTrainer,
  pruneCheckpoints,
  type Checkpoint,
  type TrainerResult,
  type TrainerState,
} from '@trinity-rft/trainer';
import { algorithmOf } from '../assembly/algorithm.js';
import { openAuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openChatFormat } from '../assembly/models/chat-format.js';
import { openCritic } from '../assembly/models/critic.js';
import { disposable } from '../context/disposable.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine } from '../assembly/models/engine.js';
import { explorerOptions } from '../assembly/explorer-options.js';
import { openExperienceStore } from '../assembly/data/experience-store.js';
import { openSampling } from '../assembly/data/sample-strategy.js';
import { openTasks, type StageTasks } from '../assembly/data/tasks.js';
import { trainerOptions } from '../assembly/trainer-options.js';
import { createTransport, type StageTransport } from '../assembly/transport.js';
import type { StageContext, StageResult } from '../context/stage-context.js';
import { findResumePoint, type ResumePoint } from './both/resume.js';
import { orGone } from './gone.js';
import { superviseBoth } from './both/supervise.js';

export async function runBoth(context: StageContext): Promise<StageResult> {
  const { stage, runtime } = context;
  const format = await openChatFormat(context);
  await using tasks = await openTasks(context);
  await using store = disposable(openExperienceStore(stage));
  const progress: Progress = {
    checkpoints: await listCheckpoints(stage.jobDirectory),
    explorer: (await store.explorerState()) as ExplorerState | undefined,
  };
  const last = progress.checkpoints.at(-1);
  if (last && context.endedBefore && nothingLeft(context, tasks, progress)) {
    return {
      interrupted: false,
      doneBefore: true,
      trainStep: last.manifest.step,
      checkpoint: last.directory,
    };
  }
  assertResumable(context, progress);
  const algorithm = algorithmOf(context);
  await using sampling = disposable(await openSampling(context, format, store));
  await using engine = disposable(
    await openEngine(context, { reference: algorithm.needs.referenceLogprobs, format }),
  );
  await using critic = await openCritic(context, algorithm);
  await using endpoint = disposable(await openEndpoint(context));
  await using auxiliary = disposable(await openAuxiliaryModels(context, endpoint));
  await using transport = disposable(createTransport(stage, engine));

  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const synchronizer = createSynchronizer({
    settings: stage.synchronizer,
    transport,
    starved: () => hasTooFew(store, sampling.fromBuffer),
    clock: runtime.clock,
    logger: runtime.logger,
  });
  const { point, state } = await resume(context, {
    engine,
    critic,
    source: sampling.source,
    synchronizer,
    transport,
    progress,
  });
  // Without a stored explore step the evaluation before the first one is made again as well.
  const sink = context.openSink({
    explorer: progress.explorer?.step ?? -1,
    trainer: point.trainStep,
  });
  const totalSteps = totalTrainSteps(context, tasks, sampling.fromBuffer);
  context.expectSteps(totalSteps);

  const trainer = createTrainer({
    ...trainerOptions(context, { engine, critic, algorithm, sampling, state, totalSteps, sink }),
    sync: synchronizer,
    signal,
  });
  const parts = {
    ...explorerOptions(context, {
      sampler: engine.sampler,
      format,
      auxiliary,
      endpoint,
      tasks,
      sink,
    }),
    store,
    sync: synchronizer,
    advantage: algorithm.advantage,
  };
  const explorer = createExplorer({ ...parts, signal });
  const gone = AbortSignal.any([engine.gone, auxiliary.gone]);
  const trained = await superviseBoth({
    explorer,
    trainer,
    store,
    synchronizer,
    state: progress.explorer,
    point,
    interrupt: context.signal,
    gone,
    stop,
  });
  if (!trained.interrupted) {
    assertTrained(trained);
    await pruneCheckpoints(stage.jobDirectory, stage.trainer.maxCheckpointsToKeep);
    // The end of training stopped the other explorer; this one is stopped by an interrupt or a dead
    // engine only.
    const evaluator = createExplorer({ ...parts, signal: AbortSignal.any([context.signal, gone]) });
    await orGone(gone, () => evaluateAtEnd({ evaluator, transport, tasks, trained, store, sink }));
  }
  return {
    interrupted: trained.interrupted,
    doneBefore: false,
    trainStep: trained.step,
    checkpoint: trained.checkpoint.directory,
  };
}

interface Progress {
  /** Complete ones, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  /** Stored with the last explore step. */
  readonly explorer: ExplorerState | undefined;
}

/** @throws ConfigError when there are weights, but not the experiences that they come from */
function assertResumable({ stage }: StageContext, { checkpoints, explorer }: Progress): void {
  const step = checkpoints.at(-1)?.manifest.step ?? 0;
  if (step === 0 || explorer) return;
  const { path } = stage.buffer.trainerInput.experienceBuffer;
  const reason =
    path === undefined
      ? 'its experience_buffer has storage: memory, which ended with its process'
      : `its experiences are not in ${path}`;
  throw new ConfigError(
    `The run in ${stage.jobDirectory} cannot go on after train step ${step}: ${reason}. Give the new run another name, or delete that folder.`,
    {
      code: 'RUN_NOT_RESUMABLE',
    },
  );
}

/** True when the stage has not become longer since it ended. */
function nothingLeft(
  { stage }: StageContext,
  tasks: StageTasks,
  { checkpoints, explorer }: Progress,
): boolean {
  const last = checkpoints.at(-1);
  if (!last?.manifest.final) return false;
  // What a buffer in memory had seen is not known any more.
  if (stage.buffer.trainerInput.experienceBuffer.path === undefined) return true;
  const allTrained =
    stage.trainer.totalSteps !== undefined && last.manifest.step >= stage.trainer.totalSteps;
  return allTrained || (explorer !== undefined && explorer.step >= tasks.exploreSteps);
}

/** True when the trainer's next batch is not there and not on its way. */
async function hasTooFew(store: ExperienceStore, needed: number): Promise<boolean> {
  const { waiting, leased } = await store.counts();
  return leased === 0 && waiting < needed;
}

interface ResumeParts {
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly source: ExperienceSource;
  readonly synchronizer: Synchronizer;
  readonly transport: StageTransport;
  readonly progress: Progress;
}

/** Puts trainer, store and sampler where the run goes on. */
async function resume(
  context: StageContext,
  { engine, critic, source, synchronizer, transport, progress }: ResumeParts,
): Promise<{ readonly point: ResumePoint; readonly state: TrainerState }> {
  const { stage, runtime } = context;
  const { syncStyle: style, syncInterval: interval } = stage.synchronizer;
  const { checkpoints, explorer } = progress;
  const point = findResumePoint({
    checkpoints,
    explorer,
    style,
    interval,
    isBoundary: (step) => synchronizer.isBoundary(step),
  });
  const models = { engine: engine.trainer, ...(critic && { critic }) };
  const state = point.checkpoint ? await loadTrainer(point.checkpoint, models) : {};
  if (explorer || point.checkpoint)
    runtime.logger.info(
      `Resumes at explore step ${explorer?.step ?? 0} and train step ${point.trainStep}.`,
    );
  await source.rollback(point.trainStep);
  await synchronizer.start({ trainStep: point.trainStep, explorerVersion: point.explorerVersion });
  if (!point.catchUp) await transport.adopt(point.trainStep);
  return { point, state };
}

/** Advantage functions for runs of several calls. */
const multiStepFns: ReadonlySet<string> = new Set(['step_wise_grpo', 'gigpo']);

/**
 * Train steps of the whole stage; unknown where a run yields as many experiences as it makes calls.
 */
function totalTrainSteps(
  { stage }: StageContext,
  tasks: StageTasks,
  experiencesPerStep: number,
): number | undefined {
  const { trainer, buffer, algorithm } = stage;
  if (trainer.totalSteps !== undefined) return trainer.totalSteps;
  if (multiStepFns.has(algorithm.advantageFn?.name ?? '')) return undefined;
  return Math.ceil(
    (tasks.exploreSteps * buffer.batchSize * algorithm.repeatTimes) / experiencesPerStep,
  );
}

/** A stage that ends without one train step has not done what it was asked for. */
function assertTrained({ step }: TrainerResult): void {
  if (step > 0) return;
  throw new BufferError(
    'The stage ended without a train step: no experience of its runs was left to train on. Look at experience_pipeline/* in metrics.jsonl: groups whose rewards are all equal may have been filtered out.',
    { code: 'NOTHING_TRAINED' },
  );
}

interface FinalEvaluation {
  readonly evaluator: Explorer;
  readonly transport: StageTransport;
  readonly tasks: StageTasks;
  readonly trained: TrainerResult;
  readonly store: ExperienceStore;
  readonly sink: MetricSink;
}

/** Scores the last weights, which no evaluation within the run has seen. */
async function evaluateAtEnd({
  evaluator,
  transport,
  tasks,
  trained,
  store,
  sink,
}: FinalEvaluation): Promise<void> {
  if (tasks.evalSets.length === 0) return;
  await transport.publish(trained.step);
  await transport.adopt(trained.step);
  const state = (await store.explorerState()) as ExplorerState | undefined;
  const step = (state?.step ?? 0) + 1;
  sink.write({ role: 'explorer', step, metrics: await evaluator.evaluate(step) });
}
