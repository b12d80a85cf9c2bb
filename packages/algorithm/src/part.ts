/** One exchangeable part of an algorithm: its arguments, and how it is made from them. */
import { readArgs, type ArgSpec, type ArgValues, type AlgorithmNeeds, type LossInput, type Metrics } from '@trinity-rft/core';

/** A row of a table of parts. */
export interface Part<Made, Context extends readonly unknown[] = []> {
  /** Names, defaults and ranges. */
  readonly args: ArgSpec;
  /** @throws ConfigError for unknown or wrong arguments; `owner` names the part in the message */
  make(owner: string, given: object | undefined, ...context: Context): Made;
}

/** Types a part by its arguments. */
export function definePart<S extends ArgSpec, Made, Context extends readonly unknown[]>(
  args: S,
  create: (args: ArgValues<S>, ...context: Context) => Made,
): Part<Made, Context> {
  return { args, make: (owner, given, ...context) => create(readArgs(owner, args, given), ...context) };
}

/** A term of the objective. `weights` are those of `aggregationWeights`. [N] */
export type LossTerm = (input: LossInput, weights: Float64Array) => TermOutput;

export interface TermOutput {
  readonly loss: number;
  /** dLoss/dcurrentLogprobs; missing = 0. [N] */
  readonly gradLogprobs?: Float64Array;
  /** dLoss/dentropy; missing = 0. [N] */
  readonly gradEntropy?: Float64Array;
  readonly metrics: Metrics;
}

/** A term and what it reads. Undefined where it has nothing to say: a coefficient of 0. */
export interface TermWithNeeds {
  readonly term: LossTerm;
  readonly needs: Partial<AlgorithmNeeds>;
}
