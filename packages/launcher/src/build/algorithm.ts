/** The algorithm of a stage, and whether the engine can do what it asks for. */
import { createAlgorithm } from '@trinity-rft/algorithm';
import { ConfigError, type Algorithm, type AlgorithmNeeds, type EngineCapabilities } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';

/** Made from the tables; nothing is opened. @throws ConfigError for parts that do not go together */
export function algorithmOf({ algorithm, seed }: Pick<StageConfig, 'algorithm' | 'seed'>): Algorithm {
  return createAlgorithm(algorithm, { seed });
}

interface Demand {
  readonly needed: (needs: AlgorithmNeeds) => boolean;
  readonly able: (capabilities: EngineCapabilities) => boolean;
  readonly reason: string;
  readonly cure: string;
}

const demands: readonly Demand[] = [
  {
    needed: ({ valueHead }) => valueHead,
    able: ({ valueHead }) => valueHead,
    reason: 'estimates advantages with a critic, and the engine has no value head',
    cure: 'Choose an advantage function without a critic: advantage_fn: grpo',
  },
  {
    needed: ({ entropy }) => entropy === 'gradient',
    able: ({ entropyGradient }) => entropyGradient === 'exact',
    reason: 'differentiates the entropy, and the engine cannot',
    cure: 'Set entropy_loss_fn: none, or entropy_coef: 0',
  },
  {
    needed: ({ referenceLogprobs }) => referenceLogprobs,
    able: ({ referenceModel }) => referenceModel,
    reason: 'compares the policy with a frozen reference, and the engine keeps none',
    cure: 'Set kl_loss_fn: none and kl_penalty_fn: none',
  },
];

/** @throws ConfigError with everything that the algorithm needs and the engine lacks */
export function assertCapable(name: string, needs: AlgorithmNeeds, capabilities: EngineCapabilities): void {
  const missing = demands.filter(({ needed, able }) => needed(needs) && !able(capabilities));
  if (missing.length === 0) return;
  const reasons = missing.map(({ reason, cure }) => `${name} ${reason}. ${cure}.`);
  throw new ConfigError(`algorithm.algorithm_type: ${reasons.join(' ')}`, { code: 'ENGINE_LACKS', details: { algorithm: name } });
}
