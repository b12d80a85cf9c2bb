/** The algorithm seam: pure, synchronous functions that do not know the engine. */
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
 * Drops or rewrites experiences of one explore step before advantages are computed. It always sees
 * whole groups.
 */
export interface ExperienceOperator {
  /** Its name in the operator table, and the prefix of its metrics. */
  readonly name: string;
  /** The metric `filtered_count` is the number of experiences it dropped. */
  apply(experiences: readonly Experience[]): {
    readonly experiences: readonly Experience[];
    readonly metrics: Metrics;
    /** For selectors of tasks. @default none */
    readonly feedback?: readonly RowFeedback[];
  };
}

/**
 * One optimizer batch, rows one after the other: row i occupies `[offsets[i], offsets[i + 1])` of
 * every [N] array. Masked tokens are present; losses skip them.
 */
export interface LossInput {
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = trained. [N] */
  readonly actionMask: Uint8Array;
  /** Log-probability of each token under the weights being trained. [N] */
  readonly currentLogprobs: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /** [N] */
  readonly advantages: Float32Array;
  /** Log-probabilities under the frozen reference, if the algorithm uses one. [N] */
  readonly refLogprobs?: Float32Array;
  /** Entropy in nats, if the algorithm uses it. [N] */
  readonly entropy?: Float32Array;
  /**
   * Run of each row: rows of the same run have the same number, and the modes that average over
   * sequences count them as one. [B]
   * @default a run per row
   */
  readonly runs?: Int32Array;
  /** 1 = expert demonstration, 0 = sampled; if the algorithm mixes both. [B] */
  readonly expertMask?: Uint8Array;
  /** The train step that this loss is for, from 1. */
  readonly step: number;
}

/** One train batch before its advantages, in the layout of {@link LossInput}. */
export interface AdvantageInput {
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = trained. [N] */
  readonly actionMask: Uint8Array;
  /**
   * Reward of each token: that of a whole row sits on its last response token, trained or not. [N]
   */
  readonly rewards: Float32Array;
  /** Task of each row: rows of the same task have the same number. [B] */
  readonly tasks: Int32Array;
  /** Run of each row: rows of the same run have the same number. [B] @default a run per row */
  readonly runs?: Int32Array;
  /**
   * The part of each row's rewards that is the reward of its run: it stands on every row of the run
   * and counts once. [B]
   * @default none
   */
  readonly runRewards?: Float32Array;
  /** Log-probability of each token when it was sampled. [N] */
  readonly oldLogprobs: Float32Array;
  /** Values by the critic, if the algorithm has one. [N] */
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
  /**
   * Reward of the greedy answer to the task of each row, if the workflow writes
   * `info.reward_baseline`. [B]
   */
  readonly rewardBaselines?: Float32Array;
}

export interface AdvantageOutput {
  /** [N] */
  readonly advantages: Float32Array;
  /** Targets of the critic. [N] */
  readonly returns: Float32Array;
  /**
   * Tokens that are still trained, if the function masks some. [N]
   * @default those of the input
   */
  readonly actionMask?: Uint8Array;
  readonly metrics: Metrics;
}

/** Computes the advantages of one train batch. */
export type BatchAdvantageFn = (input: AdvantageInput) => AdvantageOutput;

/** Subtracts `coefficient` times the KL divergence from the reference from the rewards of a batch. */
export interface KlPenalty {
  /** Coefficient of the first train step. */
  readonly initialCoefficient: number;
  apply(
    input: AdvantageInput,
    coefficient: number,
  ): {
    /** [N] */
    readonly rewards: Float32Array;
    /** For the next step; an adaptive penalty changes it. */
    readonly nextCoefficient: number;
    readonly metrics: Metrics;
  };
}

/** Input of the critic's loss. */
export interface ValueLossInput {
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** [N] */
  readonly actionMask: Uint8Array;
  /** Values by the critic being trained. [N] */
  readonly values: Float32Array;
  /** Values by the critic when the advantages were computed. [N] */
  readonly oldValues: Float32Array;
  /** [N] */
  readonly returns: Float32Array;
}

export type ValueLossFn = (input: ValueLossInput) => {
  readonly loss: number;
  /** dLoss/dvalues. [N] */
  readonly gradValues: Float32Array;
  readonly metrics: Metrics;
};

/** A term of the objective with its gradient. */
export interface LossOutput {
  readonly loss: number;
  /** dLoss/dcurrentLogprobs. [N] */
  readonly gradLogprobs: Float32Array;
  /** dLoss/dentropy. [N] */
  readonly gradEntropy?: Float32Array;
  readonly metrics: Metrics;
  /** Correction of the correction for another sampler, if the algorithm has one. */
  readonly correction?: Metrics;
}

export type PolicyLossFn = (input: LossInput) => LossOutput;

/** An algorithm as the trainer sees it: functions and needs, no name. */
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
  /** Applied before `batchAdvantage`. */
  readonly klPenalty?: KlPenalty;
  /** Loss of the critic; present if `needs.valueHead`. */
  readonly valueLoss?: ValueLossFn;
  /** The sum of policy loss, KL loss and entropy loss. */
  readonly loss: PolicyLossFn;
  /**
   * Form of `loss` before the log-probabilities are known, for engines that can compute it.
   * @default unknown
   */
  readonly expectedLoss?: (input: Omit<LossInput, 'currentLogprobs'>) => ExpectedLoss;
  readonly needs: AlgorithmNeeds;
}

/** Inputs that a strategy needs besides the log-probabilities of the policy. */
export interface AlgorithmNeeds {
  readonly referenceLogprobs: boolean;
  /**
   * `metric`: it is only reported, so that part of the batch will do; `value`: that of every token is
   * read; `gradient`: the loss differentiates it.
   */
  readonly entropy: 'none' | 'metric' | 'value' | 'gradient';
  /** `AdvantageInput.necs`. */
  readonly necs: boolean;
  /** A critic: `ValueLossFn` trains it, `AdvantageInput.values` come from it. */
  readonly valueHead: boolean;
  /** There are rollouts, with advantages and sampling log-probabilities. */
  readonly rollouts: boolean;
  /** The gradient depends on advantages. */
  readonly advantages: boolean;
  /** The gradient depends on the sampling log-probabilities: importance ratios. */
  readonly ratios: boolean;
  /** Experiences must carry `teacherLogprobs`. */
  readonly teacherLogprobs: boolean;
  /** Rows come in pairs: an even row is the chosen answer, the row after it the rejected one. */
  readonly pairs: boolean;
  /** Some rows are demonstrations of an expert: `expertMask`. */
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
