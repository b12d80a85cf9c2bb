/** The algorithm of a stage, and whether the engine can do what it asks for. */
import { createAlgorithm } from '@trinity-rft/algorithm';
import { ConfigError, type Algorithm, type AlgorithmNeeds, type EngineCapabilities } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';
import { onnxCapabilities } from '@trinity-rft/engine-onnx';

/** Made from the tables; nothing is opened. @throws ConfigError for parts that do not go together */
export function algorithmOf({ algorithm, trainer, seed }: Pick<StageConfig, 'algorithm' | 'trainer' | 'seed'>): Algorithm {
  const { cliprangeValue } = trainer.critic;
  return createAlgorithm({ ...algorithm, valueLoss: { cliprangeValue } }, { seed });
}

/** Finds what cannot work before anything is opened. @throws ConfigError naming the stage's algorithm and the reason */
export function assertTrainable(stages: readonly StageConfig[], capabilities: EngineCapabilities = onnxCapabilities): void {
  for (const stage of stages) {
    if (stage.mode === 'bench') continue;
    assertCapable(stage.algorithm.algorithmType, algorithmOf(stage).needs, capabilities);
  }
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
  {
    needed: ({ necs }) => necs,
    able: () => false,
    reason: 'reads sums over the whole distribution of each token, and the engine computes none',
    cure: 'Choose another advantage_fn, as clipb',
  },
];

/** @throws ConfigError with everything that the algorithm needs and the engine lacks */
function assertCapable(name: string, needs: AlgorithmNeeds, capabilities: EngineCapabilities): void {
  const missing = demands.filter(({ needed, able }) => needed(needs) && !able(capabilities));
  if (missing.length === 0) return;
  const reasons = missing.map(({ reason, cure }) => `${name} ${reason}. ${cure}.`);
  throw new ConfigError(`algorithm.algorithm_type: ${reasons.join(' ')}`, { code: 'ENGINE_LACKS', details: { algorithm: name } });
}
