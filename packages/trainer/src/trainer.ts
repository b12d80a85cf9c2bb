/** The training loop: take experiences, make a train step, record, save and publish. */
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
import { pruneCheckpoints, writeCheckpoint, type Checkpoint } from './checkpoint/checkpoint.js';
import { saveTrainer } from './checkpoint/models.js';
import { assertScheduleKnown, optimizerAt, type OptimizerSettings } from './schedule.js';
import type { TrainerState } from './step/targets.js';
import { trainStep, type TrainStepOptions } from './step/train-step.js';
import { takeBatch } from './take-batch.js';

/** Methods of the synchronizer that the trainer needs. */
export interface TrainSync {
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  setTrainerWaiting(waiting: boolean): void;
}

/** How long and how a trainer trains, by the names of a configuration's section `trainer`. */
export interface TrainerSettings {
  /** Stop after this many train steps. @default when the source ends */
  readonly totalSteps?: number;
  /** Train steps between checkpoints. @default only at the end */
  readonly saveInterval?: number;
  /** @default all */
  readonly maxCheckpointsToKeep?: number;
  /**
   * Checkpoints of adapters that also hold the whole model with them merged in.
   * @default last
   */
  readonly saveHfCheckpoint?: 'last' | 'always' | 'never';
  /** Required if `algorithm.needs.valueHead`. */
  readonly critic?: CriticSettings;
}

export interface CriticSettings {
  readonly optimizer: OptimizerSettings;
  /**
   * The policy is updated from this train step on; the steps before it, 1 to warmupSteps - 1, update
   * the critic only, as in Trinity-RFT. 0 and 1: no warm-up.
   */
  readonly warmupSteps: number;
}

export interface TrainerOptions {
  readonly settings: TrainerSettings;
  /** Optimizer of the policy. */
  readonly optimizer: OptimizerSettings;
  /** Size of a train step, in the unit of `filter`; Infinity: whole explore steps. */
  readonly trainBatchSize: number;
  /** Runs per task, to count groups that a batch splits. @default 1 */
  readonly repeatTimes?: number;
  /** See {@link TrainStepOptions}. */
  readonly isLive?: boolean;
  /** To count responses that were cut off. @default responses are not counted */
  readonly maxResponseTokens?: number;
  /**
   * Train steps of the whole stage, which learning rate schedules are stretched over.
   * @default unknown
   */
  readonly expectedSteps?: number;

  readonly engine: TrainEngine;
  /** Present if `algorithm.needs.valueHead`. */
  readonly critic?: ValueEngine;
  readonly algorithm: Omit<Algorithm, 'advantage'>;
  readonly source: ExperienceSource;
  /** Experiences that a train step may read, and how they are counted. @default all */
  readonly filter?: (step: number) => TakeFilter;
  /** State in the checkpoint that the models were loaded from. @default a new trainer's */
  readonly state?: TrainerState;
  /** Checkpoints are folders in this folder, which exists. */
  readonly jobDirectory: string;
  /** How long a wait for experiences may take before it is reported, and between two reports. */
  readonly maxReadTimeoutMs: number;
  readonly sync?: TrainSync;
  /** Called after each checkpoint. */
  readonly onCheckpoint?: (step: number) => Promise<void>;
  readonly sink: MetricSink;
  readonly runtime: Runtime;
  /** Stops after the train step in progress. */
  readonly signal: AbortSignal;
}

export interface Trainer {
  /**
   * Trains from the step after `step`. Resolves with the last step, once its checkpoint has been
   * written.
   */
  run(step: number): Promise<TrainerResult>;
}

export interface TrainerResult {
  readonly step: number;
  /** The signal ended it before the data or the steps did. */
  readonly interrupted: boolean;
  readonly checkpoint: Checkpoint;
}

/** @throws ConfigError when a learning rate schedule needs a number of train steps that is unknown */
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
  /** Train steps done: counts a step as soon as its update is done, even if saving it fails. */
  step: number;
  state: TrainerState;
  /** Metrics of the last checkpoint; written with those of the next step. */
  saveMetrics: Metrics;
}

async function train(options: TrainerOptions, progress: Progress): Promise<TrainerResult> {
  const { settings, signal } = options;
  let interrupted = false;
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
  const checkpoint = await save(options, progress, { final: !interrupted });
  return { step: progress.step, interrupted, checkpoint };
}

/** Resolves with false when there is nothing left to train on. */
async function trainOnce(options: TrainerOptions, progress: Progress): Promise<boolean> {
  const { settings, sink, sync, signal } = options;
  const { clock } = options.runtime;
  const step = progress.step + 1;
  const start = clock.now();
  const lease = await takeBatch(step, options);
  const readSeconds = secondsSince(start, clock);
  if (!lease) return false;

  const { metrics, state } = await trainStep(lease, stepOptions(options, step, progress.state));
  progress.step = step;
  progress.state = state;

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
  // After the record: a run that is killed in between has lost neither.
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
  await pruneCheckpoints(jobDirectory, settings.maxCheckpointsToKeep);
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
