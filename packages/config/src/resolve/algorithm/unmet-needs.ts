/** What the embedded engine can do for an algorithm, and what to say when that is not enough. */
import type { AlgorithmNeeds, EngineCapabilities } from '@trinity-rft/core';
import type { KeyPath } from '../../source/node.js';

/** As the engine itself says, which is not loaded to read a configuration. */
export const embeddedEngine: EngineCapabilities = {
  entropyGradient: 'exact',
  necs: true,
  logprobConvention: 'processed',
  valueHead: true,
  fullParameter: true,
  lora: true,
  referenceModel: true,
};

/** A need that an engine does not meet. */
export interface Lack {
  /** Goes on after the name of the algorithm. */
  readonly reason: string;
  readonly cure: string;
  /** The keys that may have brought the need, the likeliest first. */
  readonly keys: readonly KeyPath[];
}

interface Demand extends Lack {
  readonly needed: (needs: AlgorithmNeeds) => boolean;
  readonly able: (capabilities: EngineCapabilities) => boolean;
}

const key = (name: string): KeyPath => ['algorithm', name];

const demands: readonly Demand[] = [
  {
    needed: ({ valueHead }) => valueHead,
    able: ({ valueHead }) => valueHead,
    reason: 'estimates advantages with a critic, and the engine has no value head',
    cure: 'Choose an advantage function without a critic: advantage_fn: grpo',
    keys: [key('advantage_fn')],
  },
  {
    needed: ({ entropy }) => entropy === 'gradient',
    able: ({ entropyGradient }) => entropyGradient === 'exact',
    reason: 'differentiates the entropy, and the engine cannot',
    cure: 'Set entropy_loss_fn: none, or entropy_coef: 0',
    keys: [key('entropy_loss_fn'), key('entropy_loss_fn_args')],
  },
  {
    needed: ({ referenceLogprobs }) => referenceLogprobs,
    able: ({ referenceModel }) => referenceModel,
    reason: 'compares the policy with a frozen reference, and the engine keeps none',
    cure: 'Set kl_loss_fn: none and kl_penalty_fn: none',
    keys: [key('kl_loss_fn'), key('kl_penalty_fn')],
  },
  {
    needed: ({ necs }) => necs,
    able: ({ necs }) => necs,
    reason: 'reads sums over the whole distribution of each token, and the engine computes none',
    cure: 'Choose another advantage_fn, as clipb',
    keys: [key('advantage_fn')],
  },
];

/** Everything that the algorithm needs and the engine lacks. */
export const engineLacks = (
  needs: AlgorithmNeeds,
  capabilities: EngineCapabilities,
): readonly Lack[] => demands.filter(({ needed, able }) => needed(needs) && !able(capabilities));
