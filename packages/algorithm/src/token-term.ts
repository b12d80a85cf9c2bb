/** Terms of an objective that are formulas over tokens: all of them are computed in one pass over the batch. */
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
  /** Weights of the tokens of each row, where they are not those of the objective. [B] */
  readonly weights?: (input: LossInput, aggregation: Aggregation) => Float64Array;
  /** Begins a batch, and looks at its rows where the formula depends on them: at numbers that may turn out not to be finite. */
  readonly open: (input: LossInput) => State;
  /** Fills `value` and `gradient`. Sums are quicker as variables that are added to the state at the end. */
  readonly visit: (block: TokenBlock, state: State) => void;
  /** `loss` is agg(l), `mean` divides a sum over tokens by how many are trained. */
  readonly metrics: (loss: number, mean: (sum: number) => number, state: State) => Metrics;
}

/** A formula whose state is its own business. */
export interface TokenTerm extends Pick<TokenFormula<unknown>, 'coefficient' | 'by' | 'weights'> {
  open(input: LossInput): OpenTerm;
}

interface OpenTerm {
  visit(block: TokenBlock): void;
  metrics(loss: number, mean: (sum: number) => number): Metrics;
}

export function tokenTerm<State>({ open, visit, metrics, ...rest }: TokenFormula<State>): TokenTerm {
  return {
    ...rest,
    open: (input) => {
      const state = open(input);
      return { visit: (block) => visit(block, state), metrics: (loss, mean) => metrics(loss, mean, state) };
    },
  };
}

/** A term with the weights of one batch. */
export interface WeighedTerm {
  readonly term: TokenTerm;
  readonly weights: Float64Array;
  /** Whether there is a weight for each row or for each token. */
  readonly per: 'row' | 'token';
  /** Multiplies loss and gradient, not what metrics say. @default 1 */
  readonly factor?: number;
}

/** What gradients are added to; those by other things are not computed. [N] */
export type Gradients = Readonly<Partial<Record<'currentLogprobs' | 'entropy', Float32Array>>>;

export type TermSum = Pick<TermOutput, 'loss' | 'metrics'>;

/** One pass over the trained tokens: adds to the gradients, and returns loss and metrics of each term. */
export function addTerms(input: LossInput, terms: readonly WeighedTerm[], gradients: Gradients, options: PassOptions): readonly TermSum[] {
  const works = terms.map((weighed) => begin(weighed, input));
  const sums = { weights: new Float64Array(blockSize), currentLogprobs: new Float64Array(blockSize), entropy: new Float64Array(blockSize) };
  let trained = 0;
  forEachBlock(input, options, (block) => {
    trained += block.size;
    sums.currentLogprobs.fill(0);
    sums.entropy.fill(0);
    works.forEach((work, k) => {
      work.open.visit(block);
      if (work.weights !== works[k - 1]?.weights) readWeights(block, work, sums.weights);
      work.sum += work.by === 'nothing' ? weigh(block, sums.weights) : weighBoth(block, sums.weights, work.factor, sums[work.by]);
    });
    if (gradients.currentLogprobs) scatter(block, sums.currentLogprobs, gradients.currentLogprobs);
    if (gradients.entropy) scatter(block, sums.entropy, gradients.entropy);
  });
  const mean = (sum: number): number => meanOf(sum, trained);
  return works.map(({ open, sum, factor }) => ({ loss: factor * sum, metrics: open.metrics(sum, mean) }));
}

/** A term at work on a batch. */
interface Work {
  readonly open: OpenTerm;
  readonly weights: Float64Array;
  readonly per: 'row' | 'token';
  readonly factor: number;
  readonly by: 'currentLogprobs' | 'entropy' | 'nothing';
  sum: number;
}

function begin({ term, weights, per, factor = 1 }: WeighedTerm, input: LossInput): Work {
  const { by = 'currentLogprobs', coefficient = 1 } = term;
  return { open: term.open(input), weights, per, factor: factor * coefficient, by, sum: 0 };
}

function readWeights({ size, at, row }: TokenBlock, { weights, per }: Work, into: Float64Array): void {
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

function weighBoth({ size, value, gradient }: TokenBlock, weights: Float64Array, factor: number, total: Float64Array): number {
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

/** A formula as a part of an algorithm: in a pass with others, or as a function of a whole batch. */
export function ofTokens(tokens: TokenTerm, needs: Partial<AlgorithmNeeds>): TermWithNeeds {
  const { by = 'currentLogprobs' } = tokens;
  const term: LossTerm = (input, given, aggregation = { mode: 'token-mean' }) => {
    const own = tokens.weights?.(input, aggregation);
    const gradient = new Float32Array(input.actionMask.length);
    const weighed: WeighedTerm = own ? { term: tokens, weights: own, per: 'row' } : { term: tokens, weights: given, per: 'token' };
    const [output] = addTerms(input, [weighed], { [by]: gradient }, { needs });
    return { ...output!, ...(by !== 'nothing' && { [by === 'entropy' ? 'gradEntropy' : 'gradLogprobs']: gradient }) };
  };
  return { term, tokens, needs };
}
