/**
 * Training in the process that serves: one engine, whose sampler takes new weights between two
 * calls.
 */
import type {
  Algorithm,
  Engine,
  ExperienceSource,
  MetricSink,
  ValueEngine,
} from '@trinity-rft/core';
import {
  createTrainer,
  loadTrainer,
  type Checkpoint,
  type TrainerResult,
  type TrainerState,
} from '@trinity-rft/trainer';
import type { Sampling } from '../../assembly/data/sample-strategy.js';
import { trainerOptions } from '../../assembly/trainer-options.js';
import type { StageTransport } from '../../assembly/transport.js';
import type { StageContext } from '../../context/stage-context.js';

export interface GoOn {
  readonly newest: Checkpoint | undefined;
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly source: Pick<ExperienceSource, 'rollback'>;
  readonly transport: StageTransport;
}

/** Puts trainer, store and sampler where the newest checkpoint stands. */
export async function goOn({
  newest,
  engine,
  critic,
  source,
  transport,
}: GoOn): Promise<{ readonly from: number; readonly state: TrainerState }> {
  const step = newest?.manifest.step ?? 0;
  const state = newest
    ? await loadTrainer(newest, { engine: engine.trainer, ...(critic && { critic }) })
    : {};
  // What later steps had used is trained on again.
  await source.rollback(step);
  await transport.publish(step);
  await transport.adopt(step);
  return { from: step, state };
}

export interface TrainHere {
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly algorithm: Algorithm;
  readonly sampling: Sampling;
  readonly transport: StageTransport;
  readonly sink: MetricSink;
  readonly from: number;
  /** Of the checkpoint of that step. */
  readonly state: TrainerState;
  /** Ends it after the step in progress, with a checkpoint. */
  readonly signal: AbortSignal;
}

/** What is being sampled when new weights come ends on those it began with. */
export function trainHere(
  context: StageContext,
  { engine, critic, algorithm, sampling, transport, sink, from, state, signal }: TrainHere,
): Promise<TrainerResult> {
  const { syncInterval } = context.stage.synchronizer;
  const { totalSteps } = context.stage.trainer;
  context.expectSteps(totalSteps);
  const trainer = createTrainer({
    ...trainerOptions(context, { engine, critic, algorithm, sampling, state, totalSteps, sink }),
    sync: {
      trainStepDone: async (step) => {
        if (step % syncInterval !== 0) return;
        await transport.publish(step);
        await transport.adopt(step);
      },
      setTrainerWaiting: () => undefined,
    },
    signal,
  });
  return trainer.run(from);
}
