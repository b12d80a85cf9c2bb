/** How weights move for each sync method. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';
import type { WeightTransport } from '@trinity-rft/synchronizer';

/** `memory` switches arrays inside the engine; `checkpoint` writes and reads a model folder under `sync/`. */
export function createTransport(stage: StageConfig, engine: Engine): WeightTransport {
  return stage.synchronizer.syncMethod === 'memory' ? memoryTransport(engine) : checkpointTransport(stage, engine);
}

function memoryTransport({ trainer, sampler }: Engine): WeightTransport {
  return {
    publish: (version) => trainer.publish(version),
    adopt: (version) => sampler.adopt({ kind: 'published' }, version),
  };
}

function checkpointTransport(stage: StageConfig, { trainer, sampler }: Engine): WeightTransport {
  const folder = (version: number): string => path.join(stage.jobDirectory, 'sync', `version_${version}`);
  let last: number | undefined;
  return {
    publish: async (version) => {
      await rm(folder(version), { recursive: true, force: true });
      await trainer.save(folder(version), { optimizer: false });
      if (last !== undefined && last !== version) await rm(folder(last), { recursive: true, force: true });
      last = version;
    },
    adopt: (version) => sampler.adopt({ kind: 'checkpoint', directory: folder(version) }, version),
  };
}
