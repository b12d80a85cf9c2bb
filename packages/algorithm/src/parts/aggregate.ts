/**
 * Combines token losses into one value, with a weight for each token. Weights are normalised over
 * the whole optimizer batch.
 */
import { choiceArg, type Arg, type LossInput } from '@trinity-rft/core';
import { eachTrainedToken, rowSpans } from './rows.js';

/** Aggregation modes, with their names in YAML. */
export const lossAggModes = [
  'token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-mean',
  'seq-mean-token-sum-norm',
] as const;
export type LossAggMode = (typeof lossAggModes)[number];

/** Argument of loss terms that may be aggregated differently from the rest of the objective. */
export const lossAggModeArg: Arg<LossAggMode | undefined> = choiceArg(
  lossAggModes,
  undefined,
  'How the losses of tokens become one number, for this term alone. Default: loss_agg_mode of the algorithm.',
);

/** Prevents division by zero in an empty batch. The value is the same as in Trinity-RFT. */
const epsilon = 1e-8;

/** Method for aggregating token losses into one value. */
export interface Aggregation {
  readonly mode: LossAggMode;
  readonly norm?: number | undefined;
}

/** Fields of a batch that are needed to compute the weights. */
export type AggregationInput = Pick<LossInput, 'offsets' | 'actionMask' | 'runs'>;

export interface AggregationOptions {
  /**
   * Constant divisor of the sums, > 0.
   * @default 1 for `seq-mean-token-sum`, the longest sequence for `seq-mean-token-sum-norm`
   */
  readonly norm?: number | undefined;
  /**
   * Mask of the rows to include. Excluded rows have weight 0 and do not count in any denominator.
   * [B]
   * @default all rows
   */
  readonly rows?: Uint8Array | undefined;
}

/**
 * Returns the weight w of the trained tokens of each row. The aggregate of token losses l is then
 * sum(w * l), and its gradient is w * dl/dx. A sequence is a rollout, with all of its rows. A
 * rollout of several model calls therefore has the same weight as a single call with all of its
 * tokens. With S sequences, M trained tokens in total and M_i in sequence i:
 *
 * | mode | w |
 * |---|---|
 * | `token-mean` | 1 / (M + epsilon) |
 * | `seq-mean-token-sum` | 1 / (S * norm); norm is 1 by default |
 * | `seq-mean-token-mean` | 1 / (S * (M_i + epsilon)); a sequence without trained tokens counts as 0 |
 * | `seq-mean-token-sum-norm` | 1 / (norm + epsilon); norm is by default the response tokens of the longest sequence |
 *
 * Dr. GRPO (arXiv:2503.20783) is `seq-mean-token-sum` with norm = the largest allowed response
 * length. The norm is constant, so that short responses are not favoured. verl's
 * `loss_scale_factor` is the norm of `seq-mean-token-sum-norm`.
 *
 * S, M and norm refer to the whole optimizer batch, so that the result does not depend on how an
 * engine packs rows. Trinity-RFT normalises within each micro-batch, which gives short
 * micro-batches too much weight, and its sequences are model calls.
 * @returns [B]
 */
export function rowWeights(
  { offsets, actionMask, runs }: AggregationInput,
  mode: LossAggMode,
  { norm, rows: taking }: AggregationOptions = {},
): Float64Array {
  const spans = rowSpans(offsets);
  const sequenceOf = (row: number): number => runs?.[row] ?? row;
  const taken = [...spans.keys()].filter((row) => taking?.[row] !== 0);
  const trained = new Map<number, number>();
  const lengths = new Map<number, number>();
  const add = (to: Map<number, number>, row: number, size: number): void =>
    void to.set(sequenceOf(row), (to.get(sequenceOf(row)) ?? 0) + size);
  for (const [row, { start, end }] of spans.entries()) add(lengths, row, end - start);
  for (const row of taken) add(trained, row, count(actionMask, spans[row]!.start, spans[row]!.end));
  const sizes = {
    sequences: trained.size,
    total: [...trained.values()].reduce((sum, size) => sum + size, 0),
    longest: [...lengths.values()].reduce((longest, size) => Math.max(longest, size), 0),
    norm,
  };
  const weights = new Float64Array(spans.length);
  for (const row of taken)
    weights[row] = weightOf[mode]({ ...sizes, inSequence: trained.get(sequenceOf(row))! });
  return weights;
}

/** Returns {@link rowWeights} for every token; masked tokens have weight 0. [N] */
export function aggregationWeights(
  input: AggregationInput,
  mode: LossAggMode,
  options: AggregationOptions = {},
): Float64Array {
  const weights = new Float64Array(input.actionMask.length);
  const ofRows = rowWeights(input, mode, options);
  eachTrainedToken(input, (t, row) => (weights[t] = ofRows[row]!));
  return weights;
}

interface Sizes {
  readonly sequences: number;
  readonly total: number;
  readonly inSequence: number;
  readonly longest: number;
  readonly norm: number | undefined;
}

const weightOf: Readonly<Record<LossAggMode, (sizes: Sizes) => number>> = {
  'token-mean': ({ total }) => 1 / (total + epsilon),
  'seq-mean-token-sum': ({ sequences, norm = 1 }) => 1 / (sequences * norm),
  'seq-mean-token-mean': ({ sequences, inSequence }) => 1 / (sequences * (inSequence + epsilon)),
  'seq-mean-token-sum-norm': ({ longest, norm = longest }) => 1 / (norm + epsilon),
};

/**
 * Returns sum / (M + epsilon), where M is the number of trained tokens. Metrics are averaged in
 * this way in every aggregation mode.
 */
export const meanOf = (sum: number, trained: number): number => sum / (trained + epsilon);

/** Returns the number of ones of a mask in [start, end). */
export const count = (mask: Uint8Array, start = 0, end = mask.length): number =>
  mask.subarray(start, end).reduce((sum, bit) => sum + bit, 0);
