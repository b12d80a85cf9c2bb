/**
 * The training loop: takes experiences, makes a train step, records metrics, saves checkpoints and
 * publishes weights.
 */
import {
  type Clock,
  type MetricSink,
  type Metrics,
  type Runtime,
  CancelledError,
} from '@trinity-rft/core';
import type { TrainEngine, ValueEngine } from '@trinity-rft/core/engine';
import { prefixMetrics, type Algorithm } from '@trinity-rft/core/internal';
import type { ExperienceSource, TakeFilter } from '@trinity-rft/core/store';
import {
  dropCheckpointsAfter,
  listCheckpoints,
  pruneCheckpoints,
  writeCheckpoint,
  type Checkpoint,
} from './checkpoint/checkpoint.js';
import { saveTrainer } from './checkpoint/models.js';
import { assertScheduleKnown, optimizerAt, type OptimizerSettings } from './schedule.js';
import type { TrainerState } from './step/targets.js';
import { trainStep, type TrainStepOptions } from './step/train-step.js';
import { takeBatch } from './take-batch.js';

/** The part of the synchronizer that the trainer needs. */
export interface TrainSync {
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  setTrainerWaiting(waiting: boolean): void;
}

/**
 * Settings of a trainer. Field names are the camelCase forms of those in the configuration's
 * section `trainer`.
 */
export interface TrainerSettings {
  /** Maximum number of train steps. @default no limit */
  readonly totalSteps?: number;
  /** Number of train steps between checkpoints. @default undefined: one checkpoint at the end */
  readonly saveInterval?: number;
  /** Number of checkpoints to keep, the newest ones. @default undefined: all checkpoints */
  readonly maxCheckpointsToKeep?: number;
  /**
   * Determines which adapter checkpoints also contain the whole model, with the adapters merged
   * into it.
   * @default "last"
   */
  readonly saveHfCheckpoint?: 'last' | 'always' | 'never';
  /** Settings of the critic; required if `algorithm.needs.valueHead`. */
  readonly critic?: CriticSettings;
}

export interface CriticSettings {
  readonly optimizer: OptimizerSettings;
  /**
   * First train step that updates the policy. Steps 1 to warmupSteps - 1 update only the critic, as
   * in Trinity-RFT. With 0 or 1, there is no warm-up.
   */
  readonly warmupSteps: number;
}

export interface TrainerOptions {
  readonly settings: TrainerSettings;
  /** Optimizer of the policy. */
  readonly optimizer: OptimizerSettings;
  /**
   * Size of a batch, in the unit of `filter`. With Infinity, a batch consists of all experiences
   * that `filter` currently allows, which are always whole explore steps.
   */
  readonly trainBatchSize: number;
  /**
   * Number of rollouts per task, from which groups that are split between batches are counted.
   * @default 1
   */
  readonly repeatTimes?: number;
  /** See {@link TrainStepOptions.isLive}. */
  readonly isLive?: boolean;
  /**
   * Maximum length of a response in tokens, from which truncated responses are counted.
   * @default undefined: truncated responses are not counted
   */
  readonly maxResponseTokens?: number;
  /**
   * Total number of train steps of the stage, on which learning rate schedules may depend.
   * @default undefined: the number is unknown
   */
  readonly expectedSteps?: number;

  readonly engine: TrainEngine;
  /** The critic; present if `algorithm.needs.valueHead`. */
  readonly critic?: ValueEngine;
  readonly algorithm: Omit<Algorithm, 'advantage'>;
  readonly source: ExperienceSource;
  /**
   * Selects the experiences that a train step may take, and the unit in which they are counted.
   * @default all experiences
   */
  readonly filter?: (step: number) => TakeFilter;
  /**
   * Trainer state from the checkpoint of which the models were loaded.
   * @default the initial state of a trainer
   */
  readonly state?: TrainerState;
  /** Existing folder in which the checkpoint folders are created. */
  readonly jobDirectory: string;
  /** Time between warnings while the trainer waits for experiences, in ms. */
  readonly maxReadTimeoutMs: number;
  readonly sync?: TrainSync;
  /** Called after each checkpoint is written. */
  readonly onCheckpoint?: (step: number) => Promise<void>;
  readonly sink: MetricSink;
  readonly runtime: Runtime;
  /** Signal that stops training after the step in progress. */
  readonly signal: AbortSignal;
}

export interface Trainer {
  /**
   * Trains from step `step + 1` on. Resolves with the last step once its checkpoint is written. At
   * step 0 an interrupt writes no checkpoint, because the weights are those of the initial model.
   * First deletes the checkpoints of steps after `step`, because these steps are repeated.
   */
  run(step: number): Promise<TrainerResult>;
}

export interface TrainerResult {
  readonly step: number;
  /** True if the signal ended training before the data or the steps ran out. */
  readonly interrupted: boolean;
  /** Checkpoint of the step; undefined if training was interrupted before the first step. */
  readonly checkpoint: Checkpoint | undefined;
}

/**
 * Creates a trainer.
 * @throws ConfigError if a learning rate schedule needs the total number of train steps, and that
 * number is unknown
 */
export function createTrainer(options: TrainerOptions): Trainer {
  const { optimizer, settings, critic, expectedSteps } = options;
  assertScheduleKnown('algorithm.optimizer', optimizer, expectedSteps);
  if (critic && settings.critic)
    assertScheduleKnown(
      'trainer.trainer_config.critic.optim',
      settings.critic.optimizer,
      expectedSteps,
    );
  return {
    run: (step) => train(options, { step, state: options.state ?? {}, saveMetrics: {} }),
  };
}

interface Progress {
  /**
   * Number of finished train steps. A step is counted as soon as its update is done, even if saving
   * the checkpoint fails.
   */
  step: number;
  state: TrainerState;
  /**
   * Metrics of writing the last checkpoint. They are reported together with the metrics of the next
   * step.
   */
  saveMetrics: Metrics;
  /** True if a warning has said that the gradient is 0. @default false */
  isIdle?: boolean;
}

async function train(options: TrainerOptions, progress: Progress): Promise<TrainerResult> {
  const { settings, signal, jobDirectory } = options;
  let interrupted = false;
  await dropCheckpointsAfter(jobDirectory, progress.step, options.engine);
  try {
    while (progress.step < (settings.totalSteps ?? Infinity)) {
      assertNotStopped(signal);
      const trained = await trainOnce(options, progress);
      if (!trained) break;
    }
  } catch (error) {
    if (!signal.aborted || !(error instanceof CancelledError)) throw error;
    interrupted = true;
  }
  const { step } = progress;
  // A checkpoint of this step has the same weights. It is kept, because it may also be final or hold
  // merged weights.
  const saved = interrupted ? await checkpointOf(jobDirectory, step) : undefined;
  const isSaved = saved !== undefined || (interrupted && step === 0);
  const checkpoint = isSaved ? saved : await save(options, progress, { final: !interrupted });
  return { step, interrupted, checkpoint };
}

/** Makes one train step. Resolves with false if there is nothing left to train on. */
async function trainOnce(options: TrainerOptions, progress: Progress): Promise<boolean> {
  const { settings, sink, sync, signal } = options;
  const { clock, logger } = options.runtime;
  const step = progress.step + 1;
  const start = clock.now();
  const lease = await takeBatch(step, options);
  const readSeconds = secondsSince(start, clock);
  if (!lease) return false;

  const { metrics, state, isIdle } = await trainStep(
    lease,
    stepOptions(options, step, progress.state),
  );
  progress.step = step;
  progress.state = state;
  if (isIdle === true && progress.isIdle !== true) {
    progress.isIdle = true;
    logger.warn(
      `Train step ${step} learned nothing: the gradient of the policy loss is 0 at every token, although advantages are not. Every token is clipped, or the policy loss of a plugin sets no gradient.`,
    );
  }

  const seconds = secondsSince(start, clock);
  sink.write({
    role: 'trainer',
    step,
    metrics: {
      ...metrics,
      ...progress.saveMetrics,
      ...(await engineMetrics(options)),
      'time/read_experience': readSeconds,
      'time/step': seconds,
      'perf/throughput': (metrics['perf/total_num_tokens'] ?? 0) / Math.max(seconds, 1e-9),
    },
  });
  progress.saveMetrics = {};
  // The checkpoint is written after the metric record, so that a training run that is killed in
  // between does not lose the record.
  if (settings.saveInterval !== undefined && step % settings.saveInterval === 0)
    await save(options, progress, { final: false });
  await sync?.trainStepDone(step, signal);
  return true;
}

function stepOptions(options: TrainerOptions, step: number, state: TrainerState): TrainStepOptions {
  const { engine, critic, settings, algorithm, expectedSteps } = options;
  return {
    step,
    state,
    engine,
    optimizer: optimizerAt(step, options.optimizer, expectedSteps),
    critic: critic &&
      settings.critic && {
        engine: critic,
        optimizer: optimizerAt(step, settings.critic.optimizer, expectedSteps),
        warmupSteps: settings.critic.warmupSteps,
      },
    algorithm,
    repeatTimes: options.repeatTimes,
    isLive: options.isLive,
    maxResponseTokens: options.maxResponseTokens,
    clock: options.runtime.clock,
  };
}

async function engineMetrics({ engine, critic }: TrainerOptions): Promise<Metrics> {
  const ofCritic = (await critic?.stats()) ?? {};
  return { ...(await engine.stats()), ...prefixMetrics('critic', ofCritic) };
}

async function checkpointOf(jobDirectory: string, step: number): Promise<Checkpoint | undefined> {
  const checkpoints = await listCheckpoints(jobDirectory);
  return checkpoints.find(({ manifest }) => manifest.step === step);
}

async function save(
  options: TrainerOptions,
  progress: Progress,
  { final }: { readonly final: boolean },
): Promise<Checkpoint> {
  const { engine, critic, settings, jobDirectory } = options;
  const { clock } = options.runtime;
  const { saveHfCheckpoint = 'last' } = settings;
  const merged = saveHfCheckpoint === 'always' || (saveHfCheckpoint === 'last' && final);
  const start = clock.now();
  const checkpoint = await writeCheckpoint(jobDirectory, {
    step: progress.step,
    final,
    fill: (directory) => saveTrainer(directory, { engine, critic }, progress.state, { merged }),
  });
  await pruneCheckpoints(jobDirectory, settings.maxCheckpointsToKeep, engine);
  await options.onCheckpoint?.(progress.step);
  progress.saveMetrics = { 'time/save_checkpoint': secondsSince(start, clock) };
  return checkpoint;
}

function assertNotStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new CancelledError('The trainer was stopped.', {
    reason: 'shutdown',
    cause: signal.reason,
  });
}

const secondsSince = (start: number, clock: Clock): number => (clock.now() - start) / 1000;
