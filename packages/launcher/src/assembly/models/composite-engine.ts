/**
 * An engine that consists of two programs: one trains, the other samples. Weights are transferred
 * as folders. Each folder is sent with a fixed text and the trainer's log-probabilities of this
 * text. The sampler must compute the same log-probabilities, which proves that it uses the weights.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { EngineError } from '@trinity-rft/core';
import type { Engine, RemoteSampler, TrainEngine } from '@trinity-rft/core/engine';
import type { DeliveryProbe } from '@trinity-rft/core/store';
import { scoreProbe } from './probe.js';

export interface CompositeOptions {
  /** Engine that trains. Its own sampler is not used. */
  readonly engine: Engine;
  readonly sampler: RemoteSampler;
  /** True if the sampler takes adapters instead of whole models. */
  readonly adapters: boolean;
  /** Folder for published weights. Both programs must be able to access it under this path. */
  readonly folder: string;
  /** Tokens of the text that proves which weights are in use; at least 2. */
  readonly probe: Int32Array;
}

interface Published {
  readonly version: number;
  readonly directory: string;
  readonly probe: DeliveryProbe;
}

/** Number of folders to keep. Sequences in flight may need the second newest folder. */
const keptFolders = 2;

export async function compositeEngine(options: CompositeOptions): Promise<Engine> {
  const { engine, sampler, adapters, folder } = options;
  // Removes the weights that a killed process has left behind.
  await rm(folder, { recursive: true, force: true });
  const published: Published[] = [];
  let count = 0;

  const publish = async (version: number): Promise<void> => {
    const directory = path.join(folder, `${++count}-version_${version}`);
    await engine.trainer.save(directory, { optimizer: false, merged: !adapters });
    published.push({ version, directory, probe: await scoreProbe(engine.trainer, options.probe) });
  };
  const adoptPublished = async (version: number): Promise<void> => {
    const newest = published.at(-1);
    if (!newest)
      throw new EngineError(
        `Version ${version} cannot be adopted, because nothing was published. Call trainer.publish first.`,
        { code: 'NOT_PUBLISHED' },
      );
    const { directory: current, probe } = newest;
    await sampler.adopt({ kind: 'checkpoint', directory: current, probe }, version);
    const old = published.slice(0, Math.max(0, published.indexOf(newest) - keptFolders + 1));
    published.splice(0, old.length);
    for (const { directory } of old) await rm(directory, { recursive: true, force: true });
  };
  const score = sampler.score?.bind(sampler);
  return {
    capabilities: engine.capabilities,
    trainer: { ...trainerOf(engine), publish },
    sampler: {
      maxModelLen: sampler.maxModelLen,
      get policyVersion() {
        return sampler.policyVersion;
      },
      sample: (...call) => sampler.sample(...call),
      adopt: (source, version) =>
        source.kind === 'published' ? adoptPublished(version) : sampler.adopt(source, version),
      score: score && ((row, signal) => score(row, signal)),
    },
    close: async () => {
      await Promise.all([engine.close(), sampler.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Returns an object that delegates all methods to the engine's trainer, because these methods may
 * depend on `this`.
 */
const trainerOf = ({ trainer }: Engine): TrainEngine => ({
  forward: (batch, options) => trainer.forward(batch, options),
  forwardBackward: trainer.forwardBackward?.bind(trainer),
  backward: (pass, gradients) => trainer.backward(pass, gradients),
  step: (options) => trainer.step(options),
  publish: (version) => trainer.publish(version),
  save: (directory, options) => trainer.save(directory, options),
  load: (directory) => trainer.load(directory),
  discard: trainer.discard?.bind(trainer),
  stats: () => trainer.stats(),
});
