/** Losses as formulas over the quantities of one token; the driver reads, weighs and sums. */
import type { AlgorithmNeeds, LossInput, Metrics } from '@trinity-rft/core';
import type { ExpectedLoss } from '@trinity-rft/core/engine';
import type { Aggregation } from './aggregate.js';

/**
 * The quantities of one trained token. The driver fills one object anew for each token, so formulas
 * must not keep it. Log-probabilities are in nats.
 */
export interface TokenQuantities {
  /** x, the log-probability by the weights being trained. */
  logprob: number;
  /** d = x - o, o the log-probability at sampling. 0 without rollouts. */
  logRatio: number;
  /** r = e^d, d clamped to ±20. 1 without rollouts. */
  ratio: number;
  /** dr/dx: r, and 0 where d is clamped. */
  ratioSlope: number;
  /** A */
  advantage: number;
  /** f - x, f the log-probability by the reference. */
  refLogRatio: number;
  /** H, the entropy of the distribution that the token was drawn from. */
  entropy: number;
  /** Position in the batch. */
  index: number;
  /** The row that the token belongs to. */
  readonly row: RowQuantities;
}

/** Statistics over the trained tokens of a row; without rollouts, log-ratios are 0. */
export interface RowQuantities {
  /** Position in the batch. */
  index: number;
  /** Number of trained tokens. */
  trained: number;
  /** Mean of d, clamped to ±20; 0 for a row without trained tokens. */
  meanLogRatio: number;
  /** e^meanLogRatio: the geometric mean of the ratios of the tokens. */
  meanRatio: number;
  /** e^(sum of d), the sum clamped to ±20: the ratio of the whole sequence. */
  sequenceRatio: number;
  /** Mean of -d, each d clamped to ±20: how far the policy has moved away from the row. */
  drift: number;
}

/** Per-token output of a formula. `loss` and both gradients are 0 before each call. */
export interface TokenResult<Mean extends string = string> {
  loss: number;
  /** dloss/dx */
  gradient: number;
  /** dloss/dH; only losses that need the gradient of entropies set it. */
  entropyGradient: number;
  /** Sums that metrics are means of: formulas add to them. */
  readonly sums: Record<Mean, number>;
}

/** A loss with its arguments filled in, as the driver takes it; formulas read them from `State`. */
export interface TokenLoss<State = unknown> {
  /** Name of the aggregated loss among the metrics. */
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
  /** Metrics of the batch as a whole. */
  readonly metrics?: (state: State) => Metrics;
}

/** A loss within an objective. */
export interface LossTerm {
  readonly loss: TokenLoss;
  /** The objective has this times the aggregated loss; metrics are without it. @default 1 */
  readonly coefficient?: number;
  /** 1 = the row takes part. [B] @default all */
  readonly rows?: Uint8Array;
  /** @default the aggregation of the objective */
  readonly aggregation?: Aggregation;
}

/** Result of a term on a batch. */
export interface TermResult {
  /** Aggregated, without the coefficient. */
  readonly loss: number;
  readonly metrics: Metrics;
}

/** Result of a loss of the whole batch. */
export interface BatchLoss {
  readonly loss: number;
  /** dloss/dx [N] */
  readonly gradLogprobs: Float32Array | Float64Array;
  readonly metrics: Metrics;
}

/** A part of an objective on one batch: terms, or a loss of the batch as a whole. */
export interface OpenLoss {
  readonly terms: readonly LossTerm[];
  /** @default those of the terms */
  readonly metrics?: (results: readonly TermResult[]) => Metrics;
  readonly whole?: BatchLoss;
}

/** A loss as engines may compute it themselves. */
export interface KnownLoss extends Pick<ExpectedLoss, 'name' | 'low' | 'high'> {
  /** Replacement for A. @default A */
  readonly advantage?: (advantage: number) => number;
}

/** A policy, KL or entropy loss with its arguments filled in. */
export interface LossPart {
  readonly needs: Partial<AlgorithmNeeds>;
  /** With its own aggregation, if it has one. @default another form */
  readonly known?: KnownLoss & { readonly aggregation: Aggregation | undefined };
  readonly open: (input: LossInput, aggregation: Aggregation) => OpenLoss;
}
