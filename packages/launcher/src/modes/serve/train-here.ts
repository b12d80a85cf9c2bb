/**
 * Trains in the process that serves. One engine trains and samples. The sampler switches to new
 * weights between two calls.
 */
import type { StageConfig } from '@trinity-rft/config';
import type { Logger, Runtime } from '@trinity-rft/core';
import type { Engine, ValueEngine } from '@trinity-rft/core/engine';
import type { ExperienceSource, ExperienceStore } from '@trinity-rft/core/store';
import {
  createTrainer,
  type Checkpoint,
  type TrainerResult,
  type TrainerState,
} from '@trinity-rft/trainer';
import { retention } from '../../assembly/data/retention.js';
import { loadCheckpoint } from '../../assembly/models/load-checkpoint.js';
import { trainerOptions, type TrainerParts } from '../../assembly/trainer-options.js';
import type { StageTransport } from '../../assembly/transport.js';

interface ResumeParts {
  readonly newest: Checkpoint | undefined;
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly source: Pick<ExperienceSource, 'rollback'>;
  readonly transport: StageTransport;
}

/** Sets trainer, store and sampler to the newest checkpoint. */
export async function resumeTraining(
  { newest, engine, critic, source, transport }: ResumeParts,
  logger: Logger,
): Promise<{ readonly from: number; readonly state: TrainerState }> {
  const from = newest?.manifest.step ?? 0;
  const models = { engine: engine.trainer, critic };
  const state = newest ? await loadCheckpoint(newest, models, logger) : {};
  // Experiences of later steps will be trained on again.
  await source.rollback(from);
  await transport.publish(from, 0);
  await transport.adopt(from);
  return { from, state };
}

export interface TrainHere extends Omit<TrainerParts, 'totalSteps'> {
  readonly transport: StageTransport;
  readonly store: ExperienceStore;
  /** Train step of the checkpoint that training continues from. */
  readonly from: number;
  /** Signal that stops the training after the current step, with a checkpoint. */
  readonly signal: AbortSignal;
}

/**
 * Trains. Sequences in flight finish with the weights that they started with. The last weights are
 * served even if the last step is not a multiple of the sync interval.
 */
export async function trainHere(
  stage: StageConfig,
  runtime: Runtime,
  { transport, store, from, signal, ...parts }: TrainHere,
): Promise<TrainerResult> {
  const { syncInterval } = stage.synchronizer;
  const { totalSteps } = stage.trainer;
  const serve = async (step: number): Promise<void> => {
    await transport.publish(step, 0);
    await transport.adopt(step);
  };
  const trainer = createTrainer({
    ...trainerOptions(stage, runtime, { ...parts, totalSteps }),
    sync: {
      trainStepDone: async (step) => {
        if (step % syncInterval === 0) await serve(step);
      },
      setTrainerWaiting: () => undefined,
    },
    onCheckpoint: retention(stage, store),
    signal,
  });
  const result = await trainer.run(from);
  const { step, interrupted } = result;
  if (!interrupted && step > parts.engine.sampler.policyVersion) await serve(step);
  return result;
}
