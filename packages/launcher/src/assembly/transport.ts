/** Transfers weights from the trainer to the sampler, by the configured sync method. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core/engine';
import type { StageConfig } from '@trinity-rft/config';
import type { WeightTransport } from '@trinity-rft/synchronizer';
import { takesAdapters } from './models/samplers.js';

export interface StageTransport extends WeightTransport {
  /**
   * Publishes the trainer's current weights. @param final true for the weights of the final
   * evaluation. @default false
   */
  publish(version: number, consumedUpTo: number, final?: boolean): Promise<void>;
  /** Removes the files of the weights. */
  close(): Promise<void>;
}

/**
 * Creates the transport. With sync method `memory`, weights are passed inside the engine's process.
 * With `checkpoint`, they are written to a model folder under `sync/`. An engine with a separate
 * sampler uses the transport of `memory` for both methods, because it writes model folders itself.
 */
export function createTransport(stage: StageConfig, engine: Engine): StageTransport {
  return stage.synchronizer.syncMethod === 'memory' || stage.sampler !== undefined
    ? memoryTransport(engine)
    : checkpointTransport(stage, engine);
}

function memoryTransport({ trainer, sampler }: Engine): StageTransport {
  return {
    publish: (version) => trainer.publish(version),
    adopt: (version) => sampler.adopt({ kind: 'published' }, version),
    close: () => Promise.resolve(),
  };
}

function checkpointTransport(
  stage: StageConfig,
  { capabilities, trainer, sampler }: Engine,
): StageTransport {
  const merged = !takesAdapters(stage, capabilities);
  const root = path.join(stage.jobDirectory, 'sync');
  const folder = (version: number): string => path.join(root, `version_${version}`);
  const remove = (directory: string): Promise<void> =>
    rm(directory, { recursive: true, force: true });
  let last: number | undefined;
  return {
    publish: async (version) => {
      // The first call also removes weights that a killed process has left behind.
      if (last === undefined) await remove(root);
      await trainer.save(folder(version), { optimizer: false, merged });
      if (last !== undefined && last !== version) await remove(folder(last));
      last = version;
    },
    adopt: (version) => sampler.adopt({ kind: 'checkpoint', directory: folder(version) }, version),
    close: () => remove(root),
  };
}
