/** What an algorithm needs of an engine that the engine cannot do, and how to do without. */
import type { AlgorithmNeeds, EngineCapabilities, EngineFacts } from '@trinity-rft/core';
import type { KeyPath } from '../../source/node.js';

export interface UnmetNeed {
  /** Continues a sentence that begins with the name of the algorithm. */
  readonly reason: string;
  readonly fix: string;
  /** The keys that may have brought the need, the likeliest first. */
  readonly keys: readonly KeyPath[];
}

interface Requirement {
  readonly isNeeded: (needs: AlgorithmNeeds) => boolean;
  readonly isMet: (capabilities: EngineCapabilities) => boolean;
  /** What the algorithm does, and what the engine lacks for it. */
  readonly reasons: readonly [does: string, lacks: string];
  readonly fix: string;
  readonly keys: readonly string[];
}

const requirements: readonly Requirement[] = [
  {
    isNeeded: ({ valueHead }) => valueHead,
    isMet: ({ valueHead }) => valueHead,
    reasons: ['estimates advantages with a critic', 'has no value head'],
    fix: 'Choose an advantage function without a critic: advantage_fn: grpo',
    keys: ['advantage_fn'],
  },
  {
    isNeeded: ({ entropy }) => entropy === 'gradient',
    isMet: ({ entropyGradient }) => entropyGradient === 'exact',
    reasons: ['differentiates the entropy', 'cannot'],
    fix: 'Set entropy_loss_fn: none, or entropy_coef: 0',
    keys: ['entropy_loss_fn', 'entropy_loss_fn_args'],
  },
  {
    isNeeded: ({ referenceLogprobs }) => referenceLogprobs,
    isMet: ({ referenceModel }) => referenceModel,
    reasons: ['compares the policy with a frozen reference', 'keeps none'],
    fix: 'Set kl_loss_fn: none and kl_penalty_fn: none',
    keys: ['kl_loss_fn', 'kl_penalty_fn'],
  },
  {
    isNeeded: ({ necs }) => necs,
    isMet: ({ necs }) => necs,
    reasons: ['reads sums over the whole distribution of each token', 'computes none'],
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
    .map(({ reasons: [does, lacks], fix, keys }) => ({
      reason: `${does}, and the engine "${name}" ${lacks}`,
      fix,
      keys: keys.map((key) => ['algorithm', key]),
    }));
