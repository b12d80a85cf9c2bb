import type { EngineFactory } from '@trinity-rft/core/engine';
import { tinkerCapabilities } from './capabilities.js';
import { readModelSizes } from './checkpoint/model-files.js';
import { createTinkerEngine, type TinkerEngineOptions } from './engine.js';

/** Content of `EngineOptions.settings` for this engine. */
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

/** Engine that configurations select as `tinker`. */
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

/** Adds the training run's seed if the settings have none. */
const withSeed = (settings: TinkerSettings, seed: number | undefined): TinkerSettings => ({
  ...settings,
  seed: settings.seed ?? seed,
});
