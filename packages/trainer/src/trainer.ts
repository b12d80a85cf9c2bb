/** The training loop: take experiences, make optimizer steps, publish and save. */
import {
  CancelledError,
  prefixMetrics,
  type Algorithm,
  type ExperienceSource,
  type MetricSink,
  type Metrics,
  type OptimizerOptions,
  type Runtime,
  type TakeFilter,
  type TrainEngine,
  type ValueEngine,
} from '@trinity-rft/core';
import { pruneCheckpoints, writeCheckpoint, type Checkpoint } from './checkpoint/checkpoint.js';
import { saveTrainer } from './checkpoint/models.js';
import { learningRateAt, type ScheduleOptions } from './schedule.js';
import type { TrainerState } from './step/targets.js';
import { trainStep, type TrainStepOptions } from './step/train-step.js';

/** What the trainer needs of the synchronizer. */
export interface TrainSync {
  trainStepDone(step: number, signal?: AbortSignal): Promise<void>;
  setTrainerWaiting(waiting: boolean): void;
}

/** A critic and how it learns. */
export interface CriticOptions {
  readonly engine: ValueEngine;
  readonly schedule: ScheduleOptions;
  readonly optimizer: Omit<OptimizerOptions, 'learningRate'>;
  /** Steps before this one train the critic only. */
  readonly warmupSteps: number;
}

export interface TrainerOptions {
  readonly engine: TrainEngine;
  /** Present where `algorithm.needs.valueHead`. */
  readonly critic?: CriticOptions;
  readonly source: ExperienceSource;
  readonly algorithm: Omit<Algorithm, 'advantage'>;
  /** Experiences per step. */
  readonly batchSize: number;
  /** Runs per task, to count groups that a batch cuts. @default 1 */
  readonly groupSize?: number;
  /** Of the checkpoint that the models were loaded from. @default a new trainer's */
  readonly state?: TrainerState;
  /** Stop after this many steps; else when the source ends. */
  readonly totalSteps?: number;
  readonly schedule: ScheduleOptions;
  readonly optimizer: Omit<OptimizerOptions, 'learningRate'>;
  /** Which experiences a step may read (sample strategy). @default all */
  readonly filter?: (step: number) => TakeFilter;
  /** Steps between checkpoints; 0 = only at the end. */
  readonly saveInterval: number;
  readonly checkpointRoot: string;
  /** A wait for experiences longer than this is reported, again and again. */
  readonly reportWaitMs: number;
  /** @default all */
  readonly checkpointsToKeep?: number;
  readonly maxResponseTokens?: number;
  readonly sync?: TrainSync;
  readonly sink: MetricSink;
  readonly runtime: Runtime;
  /** Stops after the step in progress. */
  readonly signal: AbortSignal;
}

export interface Trainer {
  /**
   * Trains from `step` on. Resolves with the last step made; a checkpoint of it has been written.
   */
  run(step: number): Promise<TrainerResult>;
}

export interface TrainerResult {
  readonly step: number;
  /** The signal ended it before the data or the steps did. */
  readonly interrupted: boolean;
  readonly checkpoint: Checkpoint;
}

export function createTrainer(options: TrainerOptions): Trainer {
  const { engine, source, sync, sink, runtime, signal } = options;
  const { clock } = runtime;
  let { state = {} } = options;
  let saved: Checkpoint | undefined;
  /** About the last checkpoint; goes out with the next step. */
  let savedMetrics: Metrics = {};

  const save = async (step: number, final: boolean): Promise<Metrics> => {
    const begun = clock.now();
    saved = await writeCheckpoint(options.checkpointRoot, {
      step,
      final,
      fill: (directory) =>
        saveTrainer(
          directory,
          { engine, ...(options.critic && { critic: options.critic.engine }) },
          state,
        ),
    });
    await pruneCheckpoints(options.checkpointRoot, options.checkpointsToKeep);
    return { 'time/save_checkpoint': (clock.now() - begun) / 1000 };
  };

  const reportWait = async (step: number, until: AbortSignal): Promise<void> => {
    const { reportWaitMs, batchSize } = options;
    for (let waited = reportWaitMs; ; waited += reportWaitMs) {
      const over = await clock.sleep(reportWaitMs, until).then(
        () => false,
        () => true,
      );
      if (over) return;
      runtime.logger.warn(
        `Train step ${step} has been waiting for ${batchSize} experiences for ${Math.round(waited / 1000)} s (buffer max_read_timeout).`,
      );
    }
  };

  const take = async (
    step: number,
  ): Promise<{ lease: Awaited<ReturnType<ExperienceSource['take']>>; seconds: number }> => {
    const begun = clock.now();
    // The lease may settle in the same turn; the synchronizer tells real starvation from that by
    // asking the store.
    const pending = source.take(options.batchSize, options.filter?.(step), signal);
    sync?.setTrainerWaiting(true);
    const arrived = new AbortController();
    void reportWait(step, arrived.signal);
    try {
      return { lease: await pending, seconds: (clock.now() - begun) / 1000 };
    } finally {
      arrived.abort();
      sync?.setTrainerWaiting(false);
    }
  };

  /** Optimizer steps made: moves as soon as one is, whatever happens after it. */
  let made = 0;

  /** One turn of the loop. Resolves false when there is nothing left to train on. */
  const turn = async (): Promise<boolean> => {
    const step = made + 1;
    const begun = clock.now();
    const { lease, seconds } = await take(step);
    if (!lease) return false;
    const { metrics, state: next } = await trainStep(lease, {
      ...stepOptions(options, step),
      state,
    });
    made = step;
    state = next;
    const total = (clock.now() - begun) / 1000;
    sink.write({
      role: 'trainer',
      step,
      metrics: {
        ...metrics,
        ...savedMetrics,
        ...(await engine.stats()),
        ...prefixMetrics('critic', (await options.critic?.engine.stats()) ?? {}),
        'time/read_experience': seconds,
        'time/step': total,
        'perf/throughput': (metrics['perf/total_num_tokens'] ?? 0) / Math.max(total, 1e-9),
      },
    });
    savedMetrics = {};
    // After the record: a run that is killed in between has lost neither.
    if (options.saveInterval > 0 && step % options.saveInterval === 0)
      savedMetrics = await save(step, false);
    await sync?.trainStepDone(step, signal);
    return true;
  };

  return {
    run: async (from) => {
      made = from;
      let interrupted = false;
      try {
        while (made < (options.totalSteps ?? Infinity)) {
          if (signal.aborted)
            throw new CancelledError('The trainer was stopped.', {
              reason: 'shutdown',
              cause: signal.reason,
            });
          if (!(await turn())) break;
        }
      } catch (error) {
        if (!signal.aborted || !(error instanceof CancelledError)) throw error;
        interrupted = true;
      }
      await save(made, !interrupted);
      return { step: made, interrupted, checkpoint: saved! };
    },
  };
}

/** Everything that is known of a step before its data. */
function stepOptions(options: TrainerOptions, step: number): TrainStepOptions {
  const { engine, critic, algorithm, groupSize, maxResponseTokens, runtime } = options;
  const optimizerOf = ({
    optimizer,
    schedule,
  }: Pick<CriticOptions, 'optimizer' | 'schedule'>): OptimizerOptions => ({
    ...optimizer,
    learningRate: learningRateAt(step, schedule),
  });
  return {
    engine,
    algorithm,
    optimizer: optimizerOf(options),
    step,
    clock: runtime.clock,
    ...(critic && {
      critic: {
        engine: critic.engine,
        optimizer: optimizerOf(critic),
        warmupSteps: critic.warmupSteps,
      },
    }),
    ...(groupSize !== undefined && { groupSize }),
    ...(maxResponseTokens !== undefined && { maxResponseTokens }),
  };
}
