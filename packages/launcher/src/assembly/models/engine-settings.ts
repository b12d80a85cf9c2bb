/** Reads engine-specific settings from the configuration and the environment. */
import type { StageConfig } from '@trinity-rft/config';
import type { Environment } from '@trinity-rft/buffer/internal';
import { tinkerEngine, type TinkerSettings } from '../../outer/outer.js';

/**
 * Returns the settings of the stage's engine, or undefined for an engine without its own section in
 * the configuration.
 */
export function engineSettings(
  { engine, model, sampler, algorithm, mode, part }: StageConfig,
  env: Environment,
): TinkerSettings | undefined {
  if (engine !== tinkerEngine.name) return undefined;
  const { lr, betas } = algorithm.optimizer;
  const { rank, seed, trainMlp, trainAttn, trainUnembed, baseUrl, baseModel } = model.tinker;
  return {
    apiKey: env['TINKER_API_KEY'],
    baseUrl: baseUrl ?? (env['TINKER_BASE_URL'] || undefined),
    baseModel,
    hubId: model.hubId,
    optimizer: { learningRate: lr, betas },
    samples: sampler === undefined && mode !== 'train' && part !== 'train',
    rank,
    seed,
    trainMlp,
    trainAttn,
    // Sampling servers do not accept an adapter of the output layer.
    trainUnembed: trainUnembed && sampler === undefined,
  };
}
