/**
 * Types of losses that are formulas over the quantities of one token. `evaluateTerms` reads the
 * quantities, evaluates the formulas, and adds up the weighted losses.
 */
import type { AlgorithmNeeds, LossInput, Metrics } from '@trinity-rft/core';
import type { ExpectedLoss } from '@trinity-rft/core/engine';
import type { Aggregation, LossAggMode } from './aggregate.js';

/**
 * The quantities of one trained token. One object is reused for all tokens, so formulas must not
 * store it. Log-probabilities are in nats. Demonstrations (`expertMask` 1) are not rollouts, so
 * they have no log-probability at sampling. In losses of plugins, a quantity that `needs` does not
 * declare throws when it is read, and copies of the token lack it.
 */
export interface TokenQuantities {
  /** x, the log-probability under the weights being trained. */
  logprob: number;
  /**
   * d = x - o, where o is the log-probability at sampling. 0 for demonstrations, and if the loss
   * does not need rollouts.
   */
  logRatio: number;
  /** r = e^d, with d clamped to ±20. 1 where there is no log-ratio. */
  ratio: number;
  /** Derivative dr/dx: r, or 0 where d is clamped and where there is no log-ratio. */
  ratioSlope: number;
  /** A, the advantage. */
  advantage: number;
  /** f - x, where f is the log-probability under the reference. */
  refLogRatio: number;
  /** H, the entropy of the token distribution at this position, under the weights being trained. */
  entropy: number;
  /** Index of the token in the batch. */
  index: number;
  /** The row that the token belongs to. */
  readonly row: RowQuantities;
}

/**
 * Statistics over the trained tokens of a row. Where tokens have no log-ratio, 0 is used instead.
 */
export interface RowQuantities {
  /** Index of the row in the batch. */
  index: number;
  /** Number of trained tokens. */
  trained: number;
  /** Mean of d, clamped to ±20; 0 for a row without trained tokens. */
  meanLogRatio: number;
  /** e^meanLogRatio: the geometric mean of the ratios of the tokens. */
  meanRatio: number;
  /** e^(sum of d), with the sum clamped to ±20: the ratio of the whole sequence. */
  sequenceRatio: number;
  /**
   * Mean of -d, with each d clamped to ±20. Measures how far the policy has moved since the row was
   * sampled.
   */
  drift: number;
}

/** Output of a formula for one token. `loss` and both gradients are 0 before each call. */
export interface TokenResult<Mean extends string = string> {
  loss: number;
  /** dloss/dx */
  gradient: number;
  /** dloss/dH; only set by losses that differentiate entropies. */
  entropyGradient: number;
  /**
   * Sums from which the means in metrics are computed. The formula adds the token's values to these
   * sums.
   */
  readonly sums: Record<Mean, number>;
}

/**
 * A loss with fixed arguments. `State` is what `prepare` computes from the arguments and the batch.
 */
export interface TokenLoss<State = unknown> {
  /** Metric name of the aggregated loss. */
  readonly lossMetric: string;
  /**
   * Names of the sums in `sums` that are divided by the number of trained tokens to become metrics.
   */
  readonly tokenMeans: readonly string[];
  /** Names of the sums in `sums` that are divided by the number of rows to become metrics. */
  readonly rowMeans: readonly string[];
  /** Called once for every batch, before any token. */
  readonly prepare: (input: LossInput) => State;
  /** Called once for every row, before its tokens. */
  readonly row?: (row: RowQuantities, out: Pick<TokenResult, 'sums'>, state: State) => void;
  /** Called for every trained token. */
  readonly token: (token: TokenQuantities, out: TokenResult, state: State) => void;
  /** Metrics of the whole batch. */
  readonly metrics?: (state: State) => Metrics;
}

/** A token loss in an objective, with its coefficient, rows and aggregation mode. */
export interface LossTerm {
  readonly loss: TokenLoss;
  /** Factor of the aggregated loss in the objective; metrics exclude it. @default 1 */
  readonly coefficient?: number;
  /** Mask of the rows to which the term applies. [B] @default all rows */
  readonly rows?: Uint8Array;
  /**
   * Aggregation mode of this term, with the norm of the objective's aggregation.
   * @default the mode of the objective
   */
  readonly mode?: LossAggMode | undefined;
}

/** Result of a term for a batch. */
export interface TermResult {
  /** Aggregated loss, without the coefficient. */
  readonly loss: number;
  readonly metrics: Metrics;
}

/** Result of a loss of the whole batch. */
export interface BatchLoss {
  readonly loss: number;
  /** dloss/dx. [N] */
  readonly gradLogprobs: Float32Array | Float64Array;
  readonly metrics: Metrics;
}

/**
 * Contribution of a part to the objective for one batch: token-loss terms, or one loss of the whole
 * batch.
 */
export interface OpenLoss {
  readonly terms: readonly LossTerm[];
  /** Computes the metrics of the loss. @default the metrics of the terms and of `whole` */
  readonly metrics?: (results: readonly TermResult[]) => Metrics;
  readonly whole?: BatchLoss;
}

/** Parameters of a loss that engines can compute themselves. */
export interface KnownLoss extends Pick<ExpectedLoss, 'name' | 'low' | 'high'> {
  /** Transforms each advantage before it enters the loss. @default the advantage is unchanged */
  readonly advantage?: (advantage: number) => number;
}

/** A policy, KL or entropy loss with fixed arguments. */
export interface LossPart {
  readonly needs: Partial<AlgorithmNeeds>;
  /**
   * Form of the loss that engines can compute themselves, with its own aggregation mode if it has
   * one.
   * @default no such form
   */
  readonly known?: KnownLoss & Pick<LossTerm, 'mode'>;
  readonly open: (input: LossInput, aggregation: Aggregation) => OpenLoss;
}
