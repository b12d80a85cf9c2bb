/** Names and complete arguments of the algorithm parts that a resolved configuration can hold. */

export type AlgorithmType = 'grpo' | 'multi_step_grpo' | 'sft';
export type AdvantageName = 'grpo' | 'step_wise_grpo';
export type PolicyLossName = 'ppo' | 'sft';
export type KlLossName = 'none' | 'k1' | 'k2' | 'k3' | 'low_var_kl' | 'abs' | 'corrected_k3';
export type EntropyLossName = 'default' | 'none';
export type LossAggMode = 'token-mean' | 'seq-mean-token-sum' | 'seq-mean-token-mean' | 'seq-mean-token-sum-norm';

/** Rewards are centred per task; the standard deviation is that of the group or of the whole explore step. */
export type StdCalLevel = 'group' | 'batch';

export interface AdvantageArgs {
  readonly grpo: {
    readonly epsilon: number;
    /** Groups whose reward deviation is at most this are dropped; null = none are. */
    readonly stdThreshold: number | null;
    /** Replace dropped groups by copies of kept ones; needs `stdThreshold`. */
    readonly duplicateExperiences: boolean;
    /** Likelier runs of a group lose up to this share of their reward; null = off. */
    readonly rankPenalty: number | null;
    readonly stdCalLevel: StdCalLevel;
  };
  readonly step_wise_grpo: {
    readonly epsilon: number;
    /** Divide by the number of steps of the run. */
    readonly enableStepNorm: boolean;
    readonly stdCalLevel: StdCalLevel;
    readonly stdThreshold: number | null;
  };
}

export interface PolicyLossArgs {
  readonly ppo: {
    /** 0.2 allows ratios from 0.8. */
    readonly clipRangeLow: number;
    /** 0.2 allows ratios up to 1.2. */
    readonly clipRangeHigh: number;
    /** Dual clip: bound of the loss where the advantage is negative; above 1. */
    readonly clipRatioC: number;
    readonly enableSequenceMasking: boolean;
    readonly deltaSequenceMasking: number;
    /** Take the ratio as 1: plain policy gradient. */
    readonly fallbackToPolicyGradient: boolean;
  };
  readonly sft: Readonly<Record<string, never>>;
}
