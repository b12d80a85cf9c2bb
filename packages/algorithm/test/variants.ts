/** Every policy loss with arguments that reach each of its branches. */
import type { policyLossFns } from '../src/policy-losses/table.js';

export type PolicyLossName = keyof typeof policyLossFns;
export type Variant = readonly [name: PolicyLossName, args: Readonly<Record<string, unknown>>];

const sizes = {
  ppoMiniBatchSize: 8,
  ppoMicroBatchSizePerGpu: 2,
  ngpusTrainer: 2,
  trainBatchSizeUsual: 6,
  trainBatchSizeExpert: 2,
};

export const variants: readonly Variant[] = [
  ['ppo', {}],
  ['ppo', { clipRangeLow: 0.1, clipRangeHigh: 0.4, clipRatioC: 1.5 }],
  ['ppo', { enableSequenceMasking: true, deltaSequenceMasking: 0.1234 }],
  ['ppo', { fallbackToPolicyGradient: true, enableSequenceMasking: true }],
  ['ppo', { lossAggMode: 'seq-mean-token-sum' }],
  ['gspo', {}],
  ['gspo', { clipRangeLow: 0.2, clipRangeHigh: 0.3 }],
  ['cispo', {}],
  [
    'cispo',
    {
      enableMaskClip: true,
      maskClipRangeLow: 0.3,
      maskClipRangeHigh: 0.4,
      clipRangeLow: 0.5,
      clipRangeHigh: 2,
    },
  ],
  ['sapo', {}],
  ['sapo', { differentiateGate: true }],
  ['sapo', { tauPos: 2, tauNeg: 3, differentiateGate: true }],
  ['topr', {}],
  ['topr', { advantageThreshold: 1 }],
  ['topr', { sequenceRatio: true }],
  ['opmd', {}],
  ['opmd', { tau: 0.25 }],
  ['sppo', {}],
  ['sppo', { epsilon: 2 }],
  ['importance_sampling', {}],
  ['truncated_importance_sampling', {}],
  ['truncated_importance_sampling', { level: 'sequence', threshold: 3 }],
  ['truncated_importance_sampling', { level: 'sequence', mode: 'mask' }],
  ['truncated_importance_sampling', { mode: 'mask', threshold: 1.5 }],
  ['rec', {}],
  ['rec', { clipMode: 'two-side', weight: 'importance_sampling' }],
  [
    'rec',
    {
      clipMode: 'one-side',
      weight: 'truncated_importance_sampling',
      regularizer: 'k2',
      regularizerCoef: 0.3,
    },
  ],
  ['rec', { clipMode: 'gspo-one-side', weight: 'gspo_importance_sampling', epsilonHigh: 1 }],
  [
    'rec',
    {
      clipMode: 'ring',
      weight: 'advantage',
      temp: 3,
      regularizer: 'forward-kl',
      regularizerCoef: 0.2,
    },
  ],
  ['rec', { clipMode: 'ring', fixOpdAdvantage: true }],
  ['m2po', {}],
  ['m2po', { m2Threshold: 0.5, logRatioClip: 4 }],
  ['m2po', { m2Threshold: 0 }],
  ['sft', {}],
  ['sft_is', {}],
  ['sft_phi', {}],
  ['sft_phi', { cutoffProb: 0.3 }],
  ['dpo', {}],
  ['dpo', { pairing: 'each', labelSmoothing: 0.1, beta: 0.5 }],
  ['mix', {}],
  ['mix', { normalization: 'kinds', mu: 0.3, sftLossAggMode: 'seq-mean-token-mean' }],
  ['mix', { ...sizes, useDynamicBsz: true, clipRange: 0.1 }],
  [
    'mix_chord',
    { normalization: 'kinds', muWarmupSteps: 3, muDecaySteps: 6, muPeak: 0.9, muValley: 0.2 },
  ],
  ['mix_chord', { ...sizes, enablePhiFunction: false, grpoLossAggMode: 'seq-mean-token-sum-norm' }],
];
