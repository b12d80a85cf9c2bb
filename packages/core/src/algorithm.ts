/** Interfaces of algorithms: pure, synchronous functions that do not depend on the engine. */
import type { RowFeedback } from './buffer.js';
import type { ExpectedLoss } from './engine.js';
import type { Experience } from './experience.js';
import type { Metrics } from './metrics.js';

/** Turns rewards into advantages; may drop experiences. Grouping is by `eid`, never by position. */
export type AdvantageFn = (experiences: readonly Experience[]) => {
  readonly experiences: readonly Experience[];
  readonly metrics: Metrics;
};

/**
 * Drops or rewrites experiences of one explore step before advantages are computed. The operator
 * always sees whole groups.
 */
export interface ExperienceOperator {
  /** Name in the operator table, and prefix of the operator's metrics. */
  readonly name: string;
  /**
   * Applies the operator. The metric `filtered_count` is the number of experiences that were
   * dropped.
   */
  apply(experiences: readonly Experience[]): {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
    /** Results per row, for task selectors. @default no feedback */
    readonly feedback?: readonly RowFeedback[];
  };
}

/**
 * One optimizer batch, rows one after the other: row i occupies `[offsets[i], offsets[i + 1])` of
 * every [N] array. Masked tokens are present; losses skip them.
 */
export interface LossInput {
  /** Index of the first token of each row in the flat arrays; the last entry is N. [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = the token is trained on. [N] */
  readonly actionMask: Uint8Array;
  /** Log-probability of each token under the weights being trained. [N] */
  readonly currentLogprobs: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /** Advantage of each token. [N] */
  readonly advantages: Float32Array;
  /** Log-probabilities under the frozen reference, if the algorithm uses one. [N] */
  readonly refLogprobs?: Float32Array;
  /** Entropy in nats, if the algorithm uses it. [N] */
  readonly entropy?: Float32Array;
  /**
   * Number of the run that each row belongs to: rows with the same number count as one sequence in
   * the modes that average over sequences. [B]
   * @default each row is its own run
   */
  readonly runs?: Int32Array;
  /** 1 = expert demonstration, 0 = sampled; if the algorithm mixes both. [B] */
  readonly expertMask?: Uint8Array;
  /** Train step that this loss belongs to, from 1. */
  readonly step: number;
}

/** One train batch before its advantages, in the layout of {@link LossInput}. */
export interface AdvantageInput {
  /** Index of the first token of each row in the flat arrays; the last entry is N. [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = the token is trained on. [N] */
  readonly actionMask: Uint8Array;
  /**
   * Reward of each token. The reward of a whole row is stored at its last response token, whether
   * that token is trained on or not. [N]
   */
  readonly rewards: Float32Array;
  /** Number of the task that each row belongs to. [B] */
  readonly tasks: Int32Array;
  /** Number of the run that each row belongs to. [B] @default each row is its own run */
  readonly runs?: Int32Array;
  /**
   * Share of each row's rewards that belongs to its run: it is repeated on every row of the run and
   * counts once. [B]
   * @default no rewards of runs
   */
  readonly runRewards?: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /** Values that the critic estimates, if the algorithm has one. [N] */
  readonly values?: Float32Array;
  /** Log-probabilities under the frozen reference, if the algorithm uses one. [N] */
  readonly refLogprobs?: Float32Array;
  /** Log-probabilities under the teacher, if the algorithm has one. [N] */
  readonly teacherLogprobs?: Float32Array;
  /**
   * Entropy in nats of the distribution each token was drawn from, if the algorithm uses it. [N]
   */
  readonly entropy?: Float32Array;
  /**
   * H * sum(p^2) + sum(p^2 log p) of the distribution each token was drawn from, if the algorithm
   * uses it. [N]
   */
  readonly necs?: Float32Array;
  /** Reward of the greedy answer to each row's task, if the workflow writes `info.reward_baseline`. [B] */
  readonly rewardBaselines?: Float32Array;
}

export interface AdvantageOutput {
  /** Advantage of each token. [N] */
  readonly advantages: Float32Array;
  /** Targets of the critic. [N] */
  readonly returns: Float32Array;
  /**
   * Tokens that are still trained on, if the function masks some. [N]
   * @default the action mask of the input
   */
  readonly actionMask?: Uint8Array;
  readonly metrics: Metrics;
}

/** Computes the advantages of one train batch. */
export type BatchAdvantageFn = (input: AdvantageInput) => AdvantageOutput;

/** Subtracts the KL divergence from the reference, times `coefficient`, from the rewards of a batch. */
export interface KlPenalty {
  /** Coefficient of the first train step. */
  readonly initialCoefficient: number;
  apply(
    input: AdvantageInput,
    coefficient: number,
  ): {
    /** Reward of each token after the penalty. [N] */
    readonly rewards: Float32Array;
    /** Coefficient for the next step: an adaptive penalty changes it. */
    readonly nextCoefficient: number;
    readonly metrics: Metrics;
  };
}

/** Input of the critic's loss. */
export interface ValueLossInput {
  /** Index of the first token of each row in the flat arrays; the last entry is N. [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = the token is trained on. [N] */
  readonly actionMask: Uint8Array;
  /** Values of the critic that is being trained. [N] */
  readonly values: Float32Array;
  /** Values that the critic gave when the advantages were computed. [N] */
  readonly oldValues: Float32Array;
  /** Target of each value, as `AdvantageOutput.returns` gives it. [N] */
  readonly returns: Float32Array;
}

export type ValueLossFn = (input: ValueLossInput) => {
  readonly loss: number;
  /** dLoss/dvalues. [N] */
  readonly gradValues: Float32Array;
  readonly metrics: Metrics;
};

/** The objective, or one term of it, with the gradient. */
export interface LossOutput {
  readonly loss: number;
  /** dLoss/dcurrentLogprobs. [N] */
  readonly gradLogprobs: Float32Array;
  /** dLoss/dentropy. [N] */
  readonly gradEntropy?: Float32Array;
  readonly metrics: Metrics;
  /**
   * Metrics of the correction for a sampler that differs from the trainer, if the algorithm
   * corrects for it.
   */
  readonly correction?: Metrics;
}

export type PolicyLossFn = (input: LossInput) => LossOutput;

/** An algorithm as the trainer sees it: functions and the inputs they need. It has no name. */
export interface Algorithm {
  /**
   * Runs on one explore step at a time, so groups are whole. Absent for supervised data and if
   * there is a `batchAdvantage`.
   */
  readonly advantage?: AdvantageFn;
  /**
   * Runs on each train batch, for advantages that need values, reference log-probabilities or
   * penalties, which only the trainer has.
   */
  readonly batchAdvantage?: BatchAdvantageFn;
  /** KL penalty, applied before `batchAdvantage`. */
  readonly klPenalty?: KlPenalty;
  /** Loss of the critic; present if `needs.valueHead`. */
  readonly valueLoss?: ValueLossFn;
  /** The sum of policy loss, KL loss and entropy loss. */
  readonly loss: PolicyLossFn;
  /**
   * Describes `loss` before the log-probabilities are known, for engines that can compute it in
   * their forward pass.
   * @default not available
   */
  readonly expectedLoss?: (input: Omit<LossInput, 'currentLogprobs'>) => ExpectedLoss;
  readonly needs: AlgorithmNeeds;
}

/** Inputs that a strategy needs besides the log-probabilities of the policy. */
export interface AlgorithmNeeds {
  readonly referenceLogprobs: boolean;
  /**
   * Use of the policy's entropy. `metric`: reported only, so part of the batch is enough; `value`:
   * read for every token; `gradient`: differentiated by the loss.
   */
  readonly entropy: 'none' | 'metric' | 'value' | 'gradient';
  /** True if `AdvantageInput.necs` is read. */
  readonly necs: boolean;
  /** True if there is a critic, which `ValueLossFn` trains and `AdvantageInput.values` come from. */
  readonly valueHead: boolean;
  /**
   * True if the algorithm learns from rollouts, which have advantages and sampling
   * log-probabilities.
   */
  readonly rollouts: boolean;
  /** True if the gradient depends on advantages. */
  readonly advantages: boolean;
  /** True if the gradient depends on the sampling log-probabilities (importance ratios). */
  readonly ratios: boolean;
  /** True if experiences must carry `teacherLogprobs`. */
  readonly teacherLogprobs: boolean;
  /** True if rows come in pairs: each even row is the chosen answer, the row after it the rejected one. */
  readonly pairs: boolean;
  /** True if some rows are expert demonstrations, which `expertMask` marks. */
  readonly expertMask: boolean;
}

/** Needs of supervised losses: only the log-probabilities of the policy. */
export const noNeeds: AlgorithmNeeds = {
  referenceLogprobs: false,
  entropy: 'none',
  necs: false,
  valueHead: false,
  rollouts: false,
  advantages: false,
  ratios: false,
  teacherLogprobs: false,
  pairs: false,
  expertMask: false,
};
