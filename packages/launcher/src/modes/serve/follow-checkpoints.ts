/** Follows a trainer in another process by loading its newest checkpoint. */
import type { StageConfig } from '@trinity-rft/config';
import { describeError, type Runtime } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { listCheckpoints, verifyCheckpoint, type Checkpoint } from '@trinity-rft/trainer';
import { sampleFromStart } from '../../assembly/models/engine.js';

export interface ServedWeights {
  /** Train step of the weights in use. */
  readonly step: number;
  readonly checkpoint: Checkpoint | undefined;
}

/** Loads the newest checkpoint into the sampler. If there is none, uses the stage's model. */
export async function adoptNewest(jobDirectory: string, engine: Engine): Promise<ServedWeights> {
  const newest = (await listCheckpoints(jobDirectory)).at(-1);
  if (newest) return adopt(newest, engine);
  await sampleFromStart(engine);
  return { step: 0, checkpoint: undefined };
}

/** Loads newer checkpoints until the signal aborts. */
export async function followCheckpoints(
  { jobDirectory, explorer }: StageConfig,
  { clock, logger }: Runtime,
  engine: Engine,
  start: ServedWeights,
  signal: AbortSignal,
): Promise<ServedWeights> {
  let current = start;
  for (;;) {
    const ended = await clock.sleep(explorer.serve.checkIntervalMs, signal).then(
      () => false,
      () => true,
    );
    if (ended) return current;
    try {
      const newest = (await listCheckpoints(jobDirectory)).at(-1);
      if (!newest || newest.manifest.step <= current.step) continue;
      current = await adopt(newest, engine);
      logger.info(`Serves train step ${current.step}.`);
    } catch (error) {
      // Loading fails if the trainer has replaced the checkpoint in the meantime.
      logger.warn(
        `New weights could not be loaded: ${describeError(error)}. The old ones are used until the next check.`,
      );
    }
  }
}

async function adopt(checkpoint: Checkpoint, engine: Engine): Promise<ServedWeights> {
  const { step } = checkpoint.manifest;
  await verifyCheckpoint(checkpoint);
  await engine.sampler.adopt({ kind: 'checkpoint', directory: checkpoint.directory }, step);
  return { step, checkpoint };
}
