/**
 * Losses given by formulas over the quantities of one token. `evaluateTerms` reads the quantities,
 * and weights and sums the losses.
 */
import type { AlgorithmNeeds, LossInput, Metrics } from '@trinity-rft/core';
import type { ExpectedLoss } from '@trinity-rft/core/engine';
import type { Aggregation, LossAggMode } from './aggregate.js';

/**
 * The quantities of one trained token. One object is reused for all tokens, so formulas must not
 * store it. Log-probabilities are in nats. Demonstrations (`expertMask` 1) have no rollouts.
 */
export interface TokenQuantities {
  /** x, the log-probability under the weights being trained. */
  logprob: number;
  /** d = x - o, where o is the log-probability at sampling. 0 if there are no rollouts. */
  logRatio: number;
  /** r = e^d, with d clamped to ±20. 1 if there are no rollouts. */
  ratio: number;
  /** dr/dx, which is r, or 0 where d is clamped and where there are no rollouts. */
  ratioSlope: number;
  /** A, the advantage. */
  advantage: number;
  /** f - x, where f is the log-probability under the reference. */
  refLogRatio: number;
  /** H, the entropy of the distribution over the token, under the weights being trained. */
  entropy: number;
  /** Index of the token in the batch. */
  index: number;
  /** The row that the token belongs to. */
  readonly row: RowQuantities;
}

/** Statistics over the trained tokens of a row. Log-ratios are 0 if there are no rollouts. */
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
   * Mean of -d, with each d clamped to ±20. Measures the drift of the policy since the row was
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
  /** Sums from which mean metrics are computed; each formula adds to the sums. */
  readonly sums: Record<Mean, number>;
}

/**
 * A loss with fixed arguments. `State` is the data that the formulas derive from the arguments and
 * the batch.
 */
export interface TokenLoss<State = unknown> {
  /** Metric name of the aggregated loss. */
  readonly lossMetric: string;
  /** Sums that become means over trained tokens. */
  readonly tokenMeans: readonly string[];
  /** Sums that become means over rows. */
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

/** A loss as a term of an objective. */
export interface LossTerm {
  readonly loss: TokenLoss;
  /** Factor of the aggregated loss in the objective; metrics exclude it. @default 1 */
  readonly coefficient?: number;
  /** Mask of the rows to which the term applies. [B] @default all rows */
  readonly rows?: Uint8Array;
  /** Replaces the mode of the objective's aggregation, never its norm. @default the same mode */
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

/** A part of an objective for one batch: terms, or one loss of the whole batch. */
export interface OpenLoss {
  readonly terms: readonly LossTerm[];
  /** Computes the metrics of the loss. @default the metrics of the terms and of `whole` */
  readonly metrics?: (results: readonly TermResult[]) => Metrics;
  readonly whole?: BatchLoss;
}

/** A loss in the form that engines can compute themselves. */
export interface KnownLoss extends Pick<ExpectedLoss, 'name' | 'low' | 'high'> {
  /** Replaces the advantage A. @default no replacement */
  readonly advantage?: (advantage: number) => number;
}

/** A policy, KL or entropy loss with fixed arguments. */
export interface LossPart {
  readonly needs: Partial<AlgorithmNeeds>;
  /**
   * Form that engines can compute, with the mode of the loss's aggregation if it has its own.
   * @default no such form
   */
  readonly known?: KnownLoss & Pick<LossTerm, 'mode'>;
  readonly open: (input: LossInput, aggregation: Aggregation) => OpenLoss;
}
