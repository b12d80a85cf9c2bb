/** Training in the process that serves: one engine, whose sampler takes new weights between two calls. */
import type { Algorithm, Engine, ExperienceStore, MetricSink } from '@trinity-rft/core';
import { createTrainer, verifyCheckpoint, type Checkpoint, type TrainerResult } from '@trinity-rft/trainer';
import { trainerOptions } from '../build/trainer.js';
import type { StageTransport } from '../build/transport.js';
import type { StageContext } from '../context.js';

export interface GoOn {
  readonly newest: Checkpoint | undefined;
  readonly engine: Engine;
  readonly store: Pick<ExperienceStore, 'rollback'>;
  readonly transport: StageTransport;
}

/** Puts trainer, store and sampler where the newest checkpoint stands. Resolves with its train step. */
export async function goOn({ newest, engine, store, transport }: GoOn): Promise<number> {
  const step = newest?.manifest.step ?? 0;
  if (newest) {
    await verifyCheckpoint(newest);
    await engine.trainer.load(newest.directory);
  }
  // What later steps had used is trained on again.
  await store.rollback(step);
  await transport.publish(step);
  await transport.adopt(step);
  return step;
}

export interface TrainHere {
  readonly engine: Engine;
  readonly algorithm: Algorithm;
  readonly store: ExperienceStore;
  readonly transport: StageTransport;
  readonly sink: MetricSink;
  readonly from: number;
  /** Ends it after the step in progress, with a checkpoint. */
  readonly signal: AbortSignal;
}

/** What is being sampled when new weights come ends on those it began with. */
export function trainHere(
  context: StageContext,
  { engine, algorithm, store, transport, sink, from, signal }: TrainHere,
): Promise<TrainerResult> {
  const { syncInterval } = context.stage.synchronizer;
  const { totalSteps } = context.stage.trainer;
  context.expectSteps(totalSteps);
  const trainer = createTrainer({
    ...trainerOptions(context, { engine, algorithm, totalSteps, sink }),
    source: store,
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
