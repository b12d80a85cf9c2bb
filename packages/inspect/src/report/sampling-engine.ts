/** Wraps a sampler as an engine that a configuration can name for evaluations. */
import { EngineError } from '@trinity-rft/core';
import type { EngineFactory, Sampler, TrainEngine } from '@trinity-rft/core/engine';
import { builtInEngine } from '@trinity-rft/launcher/parts';

export const samplingEngineName = 'export';

/**
 * Engine whose weights are always those of the sampler: `adopt` and `publish` are no-ops; training,
 * saving and loading fail.
 */
export const samplingEngine = (sampler: Sampler): EngineFactory => ({
  name: samplingEngineName,
  // These capabilities pass the checks of any algorithm; no algorithm is executed.
  capabilities: builtInEngine.capabilities,
  open: async () => ({
    capabilities: builtInEngine.capabilities,
    trainer: untrained,
    sampler: { ...sampler, adopt: () => Promise.resolve() },
    close: () => Promise.resolve(),
  }),
});

const refuse = (): Promise<never> =>
  Promise.reject(
    new EngineError('An export is evaluated, not trained.', { code: 'EXPORT_TRAINED' }),
  );

const untrained: TrainEngine = {
  forward: refuse,
  backward: refuse,
  step: refuse,
  save: refuse,
  load: refuse,
  publish: () => Promise.resolve(),
  stats: () => Promise.resolve({}),
};
