import type { EngineFactory } from '@trinity-rft/core/engine';
import { tinkerCapabilities } from './capabilities.js';
import { readModelSizes } from './checkpoint/model-files.js';
import { createTinkerEngine, type TinkerEngineOptions } from './engine.js';

/** Settings of this engine in `EngineOptions.settings`. */
export type TinkerSettings = Pick<
  TinkerEngineOptions,
  | 'apiKey'
  | 'baseModel'
  | 'baseUrl'
  | 'hubId'
  | 'optimizer'
  | 'rank'
  | 'samples'
  | 'seed'
  | 'trainAttn'
  | 'trainMlp'
  | 'trainUnembed'
>;

/** Factory of the engine that configurations select as `tinker`. */
export const tinkerEngine: EngineFactory = {
  name: 'tinker',
  capabilities: tinkerCapabilities,
  open: ({ modelPath, maxModelLen, reference, tokenBytes, seed, settings, logger, signal }) =>
    createTinkerEngine({
      modelPath,
      maxModelLen,
      reference,
      tokenBytes,
      logger,
      signal,
      ...withSeed(settings ?? {}, seed),
    }),
  checkModel: async ({ modelPath }) => {
    await readModelSizes(modelPath);
  },
};

/** Uses the training run's seed if the settings specify none. */
const withSeed = (settings: TinkerSettings, seed: number | undefined): TinkerSettings => ({
  ...settings,
  seed: settings.seed ?? seed,
});
