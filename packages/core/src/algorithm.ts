/** The algorithm seam: pure, synchronous functions that know no engine. */
import type { Experience } from './experience.js';
import type { Metrics } from './metrics.js';

/** Turns rewards into advantages; may drop experiences. Grouping is by `eid`, never by position. */
export type AdvantageFn = (experiences: readonly Experience[]) => {
  readonly experiences: readonly Experience[];
  readonly metrics: Metrics;
};

/**
 * One optimizer batch, rows one after the other: row i occupies `[offsets[i], offsets[i + 1])` of every [N] array.
 * Masked tokens are present; a loss multiplies by the mask.
 */
export interface LossInput {
  /** [B + 1] */
  readonly offsets: Int32Array;
  /** 1 = trained. [N] */
  readonly actionMask: Uint8Array;
  /** By the weights being trained. [N] */
  readonly currentLogprobs: Float32Array;
  /** At sampling. [N] */
  readonly oldLogprobs: Float32Array;
  /** [N] */
  readonly advantages: Float32Array;
  /** By the frozen reference, when the algorithm uses one. [N] */
  readonly refLogprobs?: Float32Array;
  /** Entropy in nats, when the algorithm uses it. [N] */
  readonly entropy?: Float32Array;
}

/** A term of the objective with its gradient. */
export interface LossOutput {
  readonly loss: number;
  /** dLoss/dcurrentLogprobs. [N] */
  readonly gradLogprobs: Float32Array;
  /** dLoss/dentropy. [N] */
  readonly gradEntropy?: Float32Array;
  readonly metrics: Metrics;
}

export type PolicyLossFn = (input: LossInput) => LossOutput;

/** What the trainer needs of an algorithm: functions and needs, no name. */
export interface Algorithm {
  /** Absent for supervised data. Runs on one explore step at a time, so groups are whole. */
  readonly advantage?: AdvantageFn;
  /** The sum of policy loss, KL loss and entropy loss. */
  readonly loss: PolicyLossFn;
  readonly needs: AlgorithmNeeds;
}

export interface AlgorithmNeeds {
  readonly referenceLogprobs: boolean;
  /** `value`: for metrics only; `gradient`: the loss differentiates it. */
  readonly entropy: 'none' | 'value' | 'gradient';
  readonly valueHead: boolean;
  /** Experiences must carry a reward and sampling log-probabilities. */
  readonly rollouts: boolean;
}
