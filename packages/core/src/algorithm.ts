/** Interfaces of algorithms: pure, synchronous functions that do not depend on the engine. */
import type { RowFeedback } from './buffer.js';
import type { ExpectedLoss } from './engine.js';
import type { Experience } from './experience.js';
import type { Metrics } from './metrics.js';

/**
 * Turns rewards into advantages. May drop experiences. Groups experiences by `eid`, never by
 * position.
 */
export type AdvantageFn = (experiences: readonly Experience[]) => {
  readonly experiences: readonly Experience[];
  readonly metrics: Metrics;
};

/**
 * Filters or rewrites the experiences of one explore step before advantages are computed. Groups of
 * rollouts are always complete.
 */
export interface ExperienceOperator {
  /** Name in the operator table, and prefix of the operator's metrics. */
  readonly name: string;
  /**
   * Applies the operator. Its metrics contain `filtered_count`, the number of dropped experiences.
   */
  apply(experiences: readonly Experience[]): {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
    /**
     * Mean reward of each task row, as input of task selectors.
     * @default no feedback
     */
    readonly feedback?: readonly RowFeedback[];
  };
}

/**
 * Input of a loss: the tokens of one optimizer batch. Rows are concatenated: row i occupies
 * `[offsets[i], offsets[i + 1])` of every [N] array. Masked tokens are included; losses skip them.
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
  /**
   * Log-probability of each token under the frozen reference weights; undefined if the algorithm
   * uses no reference. [N]
   */
  readonly refLogprobs?: Float32Array;
  /**
   * Entropy in nats of the distribution that each token was sampled from; undefined if the
   * algorithm does not use it. [N]
   */
  readonly entropy?: Float32Array;
  /**
   * Index of the rollout that each row belongs to. Loss aggregations that average over sequences
   * count rows with the same index as one sequence. [B]
   * @default a separate index per row
   */
  readonly runs?: Int32Array;
  /**
   * 1 = the row is an expert demonstration, 0 = it was sampled. Undefined if the algorithm does not
   * mix both. [B]
   */
  readonly expertMask?: Uint8Array;
  /** Number of the train step, from 1. */
  readonly step: number;
}

/** A train batch before its advantages are computed, in the layout of {@link LossInput}. */
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
  /** Index of the task that each row belongs to. [B] */
  readonly tasks: Int32Array;
  /** Index of the rollout that each row belongs to. [B] @default a separate index per row */
  readonly runs?: Int32Array;
  /**
   * Number of the model call of each row within its rollout (`eid.step`). The rows of a rollout are
   * in any order. [B]
   * @default the order of the rows
   */
  readonly steps?: Int32Array;
  /**
   * Part of each row's reward that was given to the rollout as a whole. Every row of a rollout
   * contains the same value, which counts once, at the rollout's last call. [B]
   * @default no rewards for whole rollouts
   */
  readonly runRewards?: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /**
   * Value that the critic estimates for each token; undefined if the algorithm has no critic. [N]
   */
  readonly values?: Float32Array;
  /**
   * Log-probability of each token under the frozen reference weights; undefined if the algorithm
   * uses no reference. [N]
   */
  readonly refLogprobs?: Float32Array;
  /**
   * Log-probability of each token under the teacher; undefined if the algorithm has no teacher. [N]
   */
  readonly teacherLogprobs?: Float32Array;
  /**
   * Entropy in nats of the distribution each token was sampled from, if the algorithm uses it. [N]
   */
  readonly entropy?: Float32Array;
  /**
   * H * sum(p^2) + sum(p^2 log p) for each token, where p is the distribution that the token was
   * sampled from and H is its entropy in nats. Undefined if the algorithm does not use this value.
   * [N]
   */
  readonly necs?: Float32Array;
  /**
   * Reward of the greedy response to each row's task, if the workflow writes
   * `info.reward_baseline`. [B]
   */
  readonly rewardBaselines?: Float32Array;
}

export interface AdvantageOutput {
  /** Advantage of each token. [N] */
  readonly advantages: Float32Array;
  /** Target value of the critic for each token. [N] */
  readonly returns: Float32Array;
  /**
   * Mask that replaces the action mask of the input: 1 = the token is trained on. [N]
   * @default the action mask of the input
   */
  readonly actionMask?: Uint8Array;
  readonly metrics: Metrics;
}

/** Computes the advantages of one train batch. */
export type BatchAdvantageFn = (input: AdvantageInput) => AdvantageOutput;

/**
 * A penalty on the KL divergence between policy and reference: subtracts `coefficient` times the
 * divergence from a batch's rewards.
 */
export interface KlPenalty {
  /** Coefficient of the first train step. */
  readonly initialCoefficient: number;
  /**
   * True if the coefficient of each train step is the `nextCoefficient` of the step before. If
   * false, every step uses `initialCoefficient`, which the user may change when a training run is
   * resumed.
   */
  readonly adaptive: boolean;
  apply(
    input: AdvantageInput,
    coefficient: number,
  ): {
    /** Reward of each token after the penalty. [N] */
    readonly rewards: Float32Array;
    /** Coefficient for the next train step. Ignored if the penalty is not adaptive. */
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
  /** Value estimates of the critic under the weights being trained. [N] */
  readonly values: Float32Array;
  /** Value estimates of the critic from when the advantages were computed. [N] */
  readonly oldValues: Float32Array;
  /** Target of each value: `AdvantageOutput.returns`. [N] */
  readonly returns: Float32Array;
}

export type ValueLossFn = (input: ValueLossInput) => {
  readonly loss: number;
  /** Derivative of the loss with respect to `ValueLossInput.values`. [N] */
  readonly gradValues: Float32Array;
  readonly metrics: Metrics;
};

/** Value and gradient of the objective, or of one of its terms. */
export interface LossOutput {
  readonly loss: number;
  /** Derivative of the loss with respect to `LossInput.currentLogprobs`. [N] */
  readonly gradLogprobs: Float32Array;
  /** Derivative of the loss with respect to `LossInput.entropy`. [N] */
  readonly gradEntropy?: Float32Array;
  readonly metrics: Metrics;
  /**
   * Metrics of the correction for the mismatch between the log-probabilities of sampler and
   * trainer, if the algorithm makes this correction.
   */
  readonly correction?: Metrics;
}

export type PolicyLossFn = (input: LossInput) => LossOutput;

/**
 * Functions of an algorithm that the trainer calls, and the inputs that these functions need. Does
 * not contain the name of the algorithm.
 */
export interface Algorithm {
  /**
   * Computes the advantages of a whole explore step, in which all groups are complete. Absent for
   * supervised data, and if there is a `batchAdvantage`.
   */
  readonly advantage?: AdvantageFn;
  /**
   * Computes the advantages of one train batch. Present instead of `advantage` if the advantages
   * depend on inputs that only the trainer has: values, reference log-probabilities or penalties.
   */
  readonly batchAdvantage?: BatchAdvantageFn;
  /** KL penalty, applied before `batchAdvantage`. */
  readonly klPenalty?: KlPenalty;
  /** Loss of the critic; present if `needs.valueHead`. */
  readonly valueLoss?: ValueLossFn;
  /** The sum of policy loss, KL loss and entropy loss. */
  readonly loss: PolicyLossFn;
  /**
   * Describes the terms of `loss` before the log-probabilities are computed, so that engines can
   * compute the loss in their forward pass. Absent if the loss has no such description.
   */
  readonly expectedLoss?: (input: Omit<LossInput, 'currentLogprobs'>) => ExpectedLoss;
  readonly needs: AlgorithmNeeds;
}

/**
 * Inputs that an algorithm or one of its parts needs besides the log-probabilities of the policy.
 */
export interface AlgorithmNeeds {
  readonly referenceLogprobs: boolean;
  /**
   * How the policy's entropy is used. `metric`: only reported, so an estimate from a part of the
   * batch suffices; `value`: read for every token; `gradient`: differentiated by the loss.
   */
  readonly entropy: 'none' | 'metric' | 'value' | 'gradient';
  /** True if `AdvantageInput.necs` is read. */
  readonly necs: boolean;
  /**
   * True if there is a critic, which `ValueLossFn` trains and which computes
   * `AdvantageInput.values`.
   */
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
  /** True if experiences must carry `info.reward_baseline`. */
  readonly rewardBaselines: boolean;
  /**
   * True if rows come in pairs: each even row is the chosen response, and the row after it is the
   * rejected response.
   */
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
  rewardBaselines: false,
  pairs: false,
  expertMask: false,
};
