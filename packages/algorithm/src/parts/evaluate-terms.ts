/**
 * Evaluates the token losses of an objective in one pass over the tokens. Reads the quantities of
 * each token, skips masked tokens, adds up the weighted losses, and writes the gradients.
 */
import type { AlgorithmNeeds, LossInput, Metrics } from '@trinity-rft/core';
import { meanOf, rowWeights, type Aggregation } from './aggregate.js';
import { clampLogRatio } from './numbers.js';
import { rowSpans, type RowSpan } from './rows.js';
import type {
  LossTerm,
  RowQuantities,
  TermResult,
  TokenLoss,
  TokenQuantities,
  TokenResult,
} from './token-loss.js';

export interface EvaluateOptions {
  /** Quantities that the terms read. Quantities that are not needed stay 0, and ratios stay 1. */
  readonly needs: Partial<AlgorithmNeeds>;
  /**
   * Aggregation used by terms that have their own mode or row mask. A term's own mode replaces the
   * mode given here.
   */
  readonly aggregation: Aggregation;
  /** Weight of each row's tokens, used by terms without their own mode or row mask. [B] */
  readonly weights: Float64Array;
  /** Array that accumulates the gradients of log-probabilities. [N] */
  readonly gradLogprobs: Float32Array;
  /**
   * Array that accumulates the gradients of entropies; absent if no term differentiates entropies.
   * [N]
   */
  readonly gradEntropy?: Float32Array | undefined;
}

/** Evaluates all terms together, in one pass over the trained tokens of the batch. */
export function evaluateTerms(
  input: LossInput,
  terms: readonly LossTerm[],
  options: EvaluateOptions,
): readonly TermResult[] {
  if (terms.length === 0) return [];
  const states = terms.map((term) => begin(term, input, options));
  const token = noQuantities();
  const read = { input, token, ...columnsOf(input, options.needs) };
  for (const [row, span] of rowSpans(input.offsets).entries()) {
    readRow(read, row, span);
    const active = states.filter((termState) => beginRow(termState, token.row));
    if (token.row.trained > 0) visitTokens(read, span, active, options);
  }
  return states.map(finish);
}

interface TermState {
  readonly term: LossTerm;
  readonly state: unknown;
  readonly weights: Float64Array;
  readonly token: TokenLoss['token'];
  readonly out: TokenResult;
  /** Weight of the tokens of the current row. */
  weight: number;
  /** `weight` times the coefficient of the term. */
  gradientWeight: number;
  loss: number;
  trained: number;
  rows: number;
}

function begin(
  term: LossTerm,
  input: LossInput,
  { aggregation, weights }: EvaluateOptions,
): TermState {
  const { loss, rows, mode = aggregation.mode } = term;
  const names = [...loss.tokenMeans, ...loss.rowMeans];
  return {
    term,
    state: loss.prepare(input),
    weights:
      (term.mode ?? rows) ? rowWeights(input, mode, { norm: aggregation.norm, rows }) : weights,
    token: loss.token,
    out: {
      loss: 0,
      gradient: 0,
      entropyGradient: 0,
      sums: Object.fromEntries(names.map((name) => [name, 0])),
    },
    weight: 0,
    gradientWeight: 0,
    loss: 0,
    trained: 0,
    rows: 0,
  };
}

/** Prepares a term for the tokens of a row. Returns false if the term does not apply to the row. */
function beginRow(termState: TermState, row: RowQuantities): boolean {
  const { term, state, weights, out } = termState;
  if (term.rows?.[row.index] === 0) return false;
  termState.weight = weights[row.index]!;
  termState.gradientWeight = termState.weight * (term.coefficient ?? 1);
  termState.trained += row.trained;
  termState.rows++;
  term.loss.row?.(row, out, state);
  return true;
}

function finish({
  term: { loss: formula },
  state,
  out,
  loss,
  trained,
  rows,
}: TermState): TermResult {
  const metrics: Record<string, number> = { [formula.lossMetric]: loss };
  for (const name of formula.tokenMeans) metrics[name] = meanOf(out.sums[name]!, trained);
  for (const name of formula.rowMeans) metrics[name] = out.sums[name]! / Math.max(rows, 1);
  return { loss, metrics: { ...metrics, ...formula.metrics?.(state) } satisfies Metrics };
}

interface Columns {
  readonly oldLogprobs: Float32Array | undefined;
  readonly refLogprobs: Float32Array | undefined;
  readonly entropy: Float32Array | undefined;
  readonly expertMask: Uint8Array | undefined;
}

interface Read extends Columns {
  readonly input: LossInput;
  readonly token: TokenQuantities;
}

const columnsOf = (input: LossInput, needs: Partial<AlgorithmNeeds>): Columns => ({
  oldLogprobs: needs.rollouts ? input.oldLogprobs : undefined,
  refLogprobs: needs.referenceLogprobs ? input.refLogprobs : undefined,
  entropy: needs.entropy && needs.entropy !== 'none' ? input.entropy : undefined,
  expertMask: needs.expertMask ? input.expertMask : undefined,
});

const noQuantities = (): TokenQuantities => ({
  logprob: 0,
  logRatio: 0,
  ratio: 1,
  ratioSlope: 0,
  advantage: 0,
  refLogRatio: 0,
  entropy: 0,
  index: 0,
  row: { index: 0, trained: 0, meanLogRatio: 0, meanRatio: 1, sequenceRatio: 1, drift: 0 },
});

/**
 * Prevents division by zero in rows without trained tokens. The constants are the same as in
 * Trinity-RFT.
 */
const epsilon = { mean: 1e-8, drift: 1e-10 };

/**
 * Returns true for rows that the policy sampled. Demonstrations have only placeholders for the
 * log-probabilities at sampling.
 */
const isSampled = ({ expertMask }: Columns, row: number): boolean => expertMask?.[row] !== 1;

function readRow(read: Read, index: number, { start, end }: RowSpan): void {
  const { actionMask, currentLogprobs } = read.input;
  const { row } = read.token;
  const old = isSampled(read, index) ? read.oldLogprobs : undefined;
  let trained = 0;
  let sum = 0;
  let clamped = 0;
  for (let t = start; t < end; t++) {
    if (actionMask[t] === 0) continue;
    trained++;
    if (!old) continue;
    const d = currentLogprobs[t]! - old[t]!;
    sum += d;
    clamped += clampLogRatio(d);
  }
  row.index = index;
  row.trained = trained;
  row.meanLogRatio = clampLogRatio(sum / (trained + epsilon.mean));
  row.meanRatio = Math.exp(row.meanLogRatio);
  row.sequenceRatio = Math.exp(clampLogRatio(sum));
  row.drift = -clamped / (trained + epsilon.drift);
}

function visitTokens(
  read: Read,
  { start, end }: RowSpan,
  active: readonly TermState[],
  { gradLogprobs, gradEntropy }: EvaluateOptions,
): void {
  const { actionMask } = read.input;
  const { token } = read;
  const sampled = isSampled(read, token.row.index);
  for (let t = start; t < end; t++) {
    if (actionMask[t] === 0) continue;
    readToken(read, t, sampled);
    let gradient = 0;
    let entropyGradient = 0;
    for (const termState of active) {
      const { out } = termState;
      out.loss = 0;
      out.gradient = 0;
      out.entropyGradient = 0;
      termState.token(token, out, termState.state);
      termState.loss += termState.weight * out.loss;
      gradient += termState.gradientWeight * out.gradient;
      entropyGradient += termState.gradientWeight * out.entropyGradient;
    }
    gradLogprobs[t]! += gradient;
    if (gradEntropy) gradEntropy[t]! += entropyGradient;
  }
}

function readToken(
  { input, token, oldLogprobs, refLogprobs, entropy }: Read,
  t: number,
  sampled: boolean,
): void {
  const x = input.currentLogprobs[t]!;
  token.index = t;
  token.logprob = x;
  if (oldLogprobs) {
    const d = sampled ? x - oldLogprobs[t]! : 0;
    const clamped = clampLogRatio(d);
    const ratio = Math.exp(clamped);
    token.logRatio = d;
    token.ratio = ratio;
    token.ratioSlope = sampled && clamped === d ? ratio : 0;
    token.advantage = input.advantages[t]!;
  }
  if (refLogprobs) token.refLogRatio = refLogprobs[t]! - x;
  if (entropy) token.entropy = entropy[t]!;
}
