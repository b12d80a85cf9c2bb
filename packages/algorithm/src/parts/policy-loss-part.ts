/**
 * What every policy loss has: an aggregation mode of its own, needs, and a bound on what is
 * exponentiated.
 */
import { readArgs, type AlgorithmNeeds, type ArgSpec, type ArgValues } from '@trinity-rft/core';
import { aggregationWeights, lossAggModeArg, rowWeights, type LossAggMode } from './aggregate.js';
import { exponentials } from './exponential.js';
import type { LossTerm, Part, PartDoc, TermWithNeeds } from './part.js';
import type { TokenBlock } from './token-block.js';
import { ofTokens, type TokenTerm } from './token-term.js';

export interface PolicyLossDefinition<S extends ArgSpec> {
  /** Names, defaults and ranges; `lossAggMode` is added. */
  readonly args: S;
  readonly doc: PartDoc;
  /** @default advantages and sampling log-probabilities */
  readonly needs?: Partial<AlgorithmNeeds>;
  /**
   * A function of the whole batch, or a formula over tokens, which is quicker: it shares a pass
   * with the other terms.
   * @throws ConfigError for arguments that contradict each other
   */
  readonly create: (options: ArgValues<S>) => LossTerm | TokenTerm;
}

/** Types a policy loss by its arguments. */
export function definePolicyLoss<S extends ArgSpec>(
  definition: PolicyLossDefinition<S>,
): Part<TermWithNeeds> {
  const { doc, needs = { rollouts: true }, create } = definition;
  const args = { ...definition.args, lossAggMode: lossAggModeArg };
  return {
    args,
    doc,
    make: (owner, given) => {
      const options = readArgs(owner, args, given);
      const { lossAggMode: mode } = options;
      const made = create(options as ArgValues<S>);
      if (typeof made !== 'function')
        return ofTokens(mode ? aggregatedBy(mode, made) : made, needs);
      return {
        needs,
        term: mode ? (input) => made(input, aggregationWeights(input, mode), { mode }) : made,
      };
    },
  };
}

/** A term that has weights of its own keeps them. */
const aggregatedBy = (mode: LossAggMode, term: TokenTerm): TokenTerm => ({
  ...term,
  open: (input) => {
    const open = term.open(input, { mode });
    return { ...open, weights: open.weights ?? rowWeights(input, mode) };
  },
});

/**
 * d within 20, the largest log-ratio that is exponentiated: exp overflows float32 at 88, and one
 * such token would poison the batch. The bounds are written out here and below, since what a module
 * exports is looked up for every token.
 */
export const boundLogRatio = (d: number): number => (d > 20 ? 20 : d < -20 ? -20 : d);

/** e^d, d within 20. */
export const ratioOf = (d: number): number => Math.exp(d > 20 ? 20 : d < -20 ? -20 : d);

/** r of each token, d within 20. */
export const ratiosOf = (block: TokenBlock): Float64Array => boundedExp(block.d, block);

/** e^v of each token, v within 20: in `exp` of the block. */
export function boundedExp(values: Float64Array, { size, exp }: TokenBlock): Float64Array {
  exponentials(values, size, exp, 20);
  return exp;
}

export const clamp = (value: number, low: number, high: number): number =>
  value < low ? low : value > high ? high : value;
