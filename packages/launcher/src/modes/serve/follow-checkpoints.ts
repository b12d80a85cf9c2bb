/** Weights of a trainer in another process: its newest checkpoint. */
import { describeError, type Engine } from '@trinity-rft/core';
import { listCheckpoints, verifyCheckpoint, type Checkpoint } from '@trinity-rft/trainer';
import type { StageContext } from '../../context/stage-context.js';

export interface Followed {
  /** Train step of the weights in use. */
  readonly step: number;
  readonly checkpoint: Checkpoint | undefined;
}

/** The sampler starts with the newest checkpoint, else with the model of the stage. */
export async function adoptNewest({ stage }: StageContext, engine: Engine): Promise<Followed> {
  const newest = (await listCheckpoints(stage.jobDirectory)).at(-1);
  if (newest) return adopt(newest, engine);
  await engine.trainer.publish(0);
  await engine.sampler.adopt({ kind: 'published' }, 0);
  return { step: 0, checkpoint: undefined };
}

/** Takes newer checkpoints as they come, until the signal aborts. */
export async function followCheckpoints(
  { stage, runtime }: StageContext,
  engine: Engine,
  start: Followed,
  signal: AbortSignal,
): Promise<Followed> {
  const { clock, logger } = runtime;
  let current = start;
  for (;;) {
    const over = await clock.sleep(stage.explorer.serve.checkIntervalMs, signal).then(
      () => false,
      () => true,
    );
    if (over) return current;
    try {
      const newest = (await listCheckpoints(stage.jobDirectory)).at(-1);
      if (!newest || newest.manifest.step <= current.step) continue;
      current = await adopt(newest, engine);
      logger.info(`Serves train step ${current.step}.`);
    } catch (error) {
      // It may have been removed for a newer one in the meantime.
      logger.warn(
        `New weights could not be taken: ${describeError(error)}. The old ones stay until the next look.`,
      );
    }
  }
}

async function adopt(checkpoint: Checkpoint, engine: Engine): Promise<Followed> {
  const { step } = checkpoint.manifest;
  await verifyCheckpoint(checkpoint);
  await engine.sampler.adopt({ kind: 'checkpoint', directory: checkpoint.directory }, step);
  return { step, checkpoint };
}
