/** Finds needs of an algorithm that the engine does not meet, and suggests fixes. */
import type { AlgorithmNeeds } from '@trinity-rft/core';
import type { EngineCapabilities, EngineFacts } from '@trinity-rft/core/engine';

export interface UnmetNeed {
  /** Rest of a sentence that begins with the name of the algorithm. */
  readonly reason: string;
  readonly fix: string;
  /** Keys of the `algorithm` section that can cause the need, the most likely first. */
  readonly keys: readonly string[];
}

interface Requirement {
  readonly isNeeded: (needs: AlgorithmNeeds) => boolean;
  readonly isMet: (capabilities: EngineCapabilities) => boolean;
  /** Two parts of a sentence: what the algorithm does, and what the engine lacks for this. */
  readonly reason: readonly [algorithm: string, engine: string];
  readonly fix: string;
  readonly keys: readonly string[];
}

const requirements: readonly Requirement[] = [
  {
    isNeeded: ({ valueHead }) => valueHead,
    isMet: ({ valueHead }) => valueHead,
    reason: ['estimates advantages with a critic', 'has no value head'],
    fix: 'Choose an advantage function without a critic: advantage_fn: grpo',
    keys: ['advantage_fn'],
  },
  {
    isNeeded: ({ entropy }) => entropy === 'gradient',
    isMet: ({ entropyGradient }) => entropyGradient === 'exact',
    reason: ['differentiates the entropy', 'cannot'],
    fix: 'Set entropy_loss_fn: none, or entropy_coef: 0',
    keys: ['entropy_loss_fn', 'entropy_loss_fn_args'],
  },
  {
    isNeeded: ({ entropy }) => entropy === 'value' || entropy === 'metric',
    isMet: ({ entropy }) => entropy,
    reason: ['reads the entropy of each token', 'computes none'],
    fix: 'Choose another advantage_fn',
    keys: ['advantage_fn', 'entropy_loss_fn'],
  },
  {
    isNeeded: ({ referenceLogprobs }) => referenceLogprobs,
    isMet: ({ referenceModel }) => referenceModel,
    reason: ['compares the policy with a frozen reference', 'keeps none'],
    fix: 'Set kl_loss_fn: none and kl_penalty_fn: none',
    keys: ['kl_loss_fn', 'kl_penalty_fn'],
  },
  {
    isNeeded: ({ necs }) => necs,
    isMet: ({ necs }) => necs,
    reason: ['reads sums over the whole distribution of each token', 'computes none'],
    fix: 'Choose another advantage_fn, such as clipb',
    keys: ['advantage_fn'],
  },
];

export const unmetNeeds = (
  needs: AlgorithmNeeds,
  { name, capabilities }: EngineFacts,
): readonly UnmetNeed[] =>
  requirements
    .filter(({ isNeeded, isMet }) => isNeeded(needs) && !isMet(capabilities))
    .map(({ reason: [algorithm, engine], fix, keys }) => ({
      reason: `${algorithm}, and the engine "${name}" ${engine}`,
      fix,
      keys,
    }));
