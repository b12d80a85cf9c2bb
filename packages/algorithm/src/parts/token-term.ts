/**
 * Terms of an objective that are formulas over tokens: all of them are computed in one pass over
 * the batch.
 */
import type { AlgorithmNeeds, LossInput, Metrics } from '@trinity-rft/core';
import { meanOf, type Aggregation } from './aggregate.js';
import type { LossTerm, TermOutput, TermWithNeeds } from './part.js';
import { forEachBlock, type PassOptions, type TokenBlock } from './token-block.js';
import { blockSize } from './visit.js';

/** A formula; `State` is what it knows of a batch and what it adds up for metrics. */
export interface TokenFormula<State> {
  /** The term is this times agg(l). @default 1 */
  readonly coefficient?: number;
  /** What `gradient` is the derivative by. @default "currentLogprobs" */
  readonly by?: 'currentLogprobs' | 'entropy' | 'nothing';
  /**
   * Begins a batch, and looks at its rows where the formula depends on them: at numbers that may
   * turn out not to be finite.
   */
  readonly open: (input: LossInput, aggregation: Aggregation) => State;
  /** Weights of the tokens of each row, where they are not those of the objective. [B] */
  readonly weights?: (state: State) => Float64Array | undefined;
  /**
   * Fills `value` and `gradient`. Sums are quicker as variables that are added to the state at the
   * end.
   */
  readonly visit: (block: TokenBlock, state: State) => void;
  /** `loss` is agg(l), `mean` divides a sum over tokens by how many are trained. */
  readonly metrics: (loss: number, mean: (sum: number) => number, state: State) => Metrics;
}

/** A formula whose state is its own business. */
export interface TokenTerm extends Pick<TokenFormula<unknown>, 'coefficient' | 'by'> {
  readonly open: (input: LossInput, aggregation: Aggregation) => OpenTerm;
}

/** A formula at work on a batch. */
export interface OpenTerm {
  readonly weights: Float64Array | undefined;
  readonly visit: (block: TokenBlock) => void;
  readonly metrics: (loss: number, mean: (sum: number) => number) => Metrics;
}

export function tokenTerm<State>({
  open,
  weights,
  visit,
  metrics,
  ...rest
}: TokenFormula<State>): TokenTerm {
  return {
    ...rest,
    open: (input, aggregation) => {
      const state = open(input, aggregation);
      return {
        weights: weights?.(state),
        visit: (block) => visit(block, state),
        metrics: (loss, mean) => metrics(loss, mean, state),
      };
    },
  };
}

/** How a pass aggregates, where a term does not do it in its own way. */
interface Weights {
  readonly aggregation: Aggregation;
  readonly values: Float64Array;
  /** Whether there is a weight for each row or for each token. */
  readonly per: 'row' | 'token';
}

/** What gradients are added to; those by other things are not computed. [N] */
type Gradients = Readonly<Partial<Record<'currentLogprobs' | 'entropy', Float32Array>>>;

export interface Pass extends PassOptions {
  readonly weights: Weights;
  readonly gradients: Gradients;
}

/**
 * One pass over the trained tokens: adds to the gradients, and returns loss and metrics of each
 * term.
 */
export function addTerms(
  input: LossInput,
  terms: readonly TokenTerm[],
  pass: Pass,
): readonly Pick<TermOutput, 'loss' | 'metrics'>[] {
  const { gradients } = pass;
  const works = terms.map((term) => begin(term, input, pass.weights));
  const sums = {
    weights: new Float64Array(blockSize),
    currentLogprobs: new Float64Array(blockSize),
    entropy: new Float64Array(blockSize),
  };
  let trained = 0;
  forEachBlock(input, pass, (block) => {
    trained += block.size;
    sums.currentLogprobs.fill(0);
    sums.entropy.fill(0);
    works.forEach((work, k) => {
      work.open.visit(block);
      if (work.weights !== works[k - 1]?.weights) readWeights(block, work, sums.weights);
      work.sum +=
        work.by === 'nothing'
          ? weigh(block, sums.weights)
          : weighBoth(block, sums.weights, work.factor, sums[work.by]);
    });
    if (gradients.currentLogprobs) scatter(block, sums.currentLogprobs, gradients.currentLogprobs);
    if (gradients.entropy) scatter(block, sums.entropy, gradients.entropy);
  });
  const mean = (sum: number): number => meanOf(sum, trained);
  return works.map(({ open, sum, factor }) => ({
    loss: factor * sum,
    metrics: open.metrics(sum, mean),
  }));
}

interface Work {
  readonly open: OpenTerm;
  readonly weights: Float64Array;
  readonly per: 'row' | 'token';
  readonly factor: number;
  readonly by: 'currentLogprobs' | 'entropy' | 'nothing';
  sum: number;
}

function begin(
  { open: openTerm, coefficient: factor = 1, by = 'currentLogprobs' }: TokenTerm,
  input: LossInput,
  given: Weights,
): Work {
  const open = openTerm(input, given.aggregation);
  const { weights = given.values } = open;
  return { open, weights, per: open.weights ? 'row' : given.per, factor, by, sum: 0 };
}

function readWeights(
  { size, at, row }: TokenBlock,
  { weights, per }: Work,
  into: Float64Array,
): void {
  if (per === 'row' && row[0] === row[size - 1]) {
    into.fill(weights[row[0]!]!);
    return;
  }
  const place = per === 'row' ? row : at;
  for (let i = 0; i < size; i++) into[i] = weights[place[i]!]!;
}

function weigh({ size, value }: TokenBlock, weights: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += weights[i]! * value[i]!;
  return sum;
}

function weighBoth(
  { size, value, gradient }: TokenBlock,
  weights: Float64Array,
  factor: number,
  total: Float64Array,
): number {
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const weight = weights[i]!;
    sum += weight * value[i]!;
    total[i]! += factor * weight * gradient[i]!;
  }
  return sum;
}

function scatter({ size, at }: TokenBlock, from: Float64Array, into: Float32Array): void {
  for (let i = 0; i < size; i++) into[at[i]!]! += from[i]!;
}

/**
 * A formula as a part of an algorithm: in a pass with others, or as a function of a whole batch.
 */
export function ofTokens(tokens: TokenTerm, needs: Partial<AlgorithmNeeds>): TermWithNeeds {
  const { by = 'currentLogprobs' } = tokens;
  const term: LossTerm = (input, values, aggregation = { mode: 'token-mean' }) => {
    const gradient = new Float32Array(input.actionMask.length);
    const [output] = addTerms(input, [tokens], {
      needs,
      weights: { aggregation, values, per: 'token' },
      gradients: { [by]: gradient },
    });
    return {
      ...output!,
      ...(by !== 'nothing' && { [by === 'entropy' ? 'gradEntropy' : 'gradLogprobs']: gradient }),
    };
  };
  return { term, tokens, needs };
}
