/** What an advantage function is made of: where it can run, and what it needs there. */
import {
  readArgs,
  type AdvantageFn,
  type AlgorithmNeeds,
  type ArgSpec,
  type ArgValues,
  type BatchAdvantageFn,
} from '@trinity-rft/core';
import type { Part, PartDoc } from './part.js';

/**
 * At least one of the two functions; where both are there they agree where a train batch holds one
 * explore step.
 */
export interface AdvantageStrategy {
  /** Runs in the explorer's pipeline on one explore step, so groups are whole. */
  readonly advantage?: AdvantageFn;
  /**
   * Runs in the trainer on one train batch: chosen where `advantage` is missing, or rewards are
   * penalised there.
   */
  readonly batchAdvantage?: BatchAdvantageFn;
  readonly needs?: Partial<AlgorithmNeeds>;
}

/** Made from arguments and the run's seed. */
export interface AdvantagePart extends Part<AdvantageStrategy, readonly [seed: number]> {
  /**
   * Runs are compared with others of their task, so a task with one run teaches little or nothing.
   */
  readonly comparesRuns: boolean;
}

/** Types an advantage function by its arguments. */
export function defineAdvantagePart<S extends ArgSpec>(options: {
  readonly args: S;
  readonly doc: PartDoc;
  readonly comparesRuns: boolean;
  readonly create: (args: ArgValues<S>, seed: number) => AdvantageStrategy;
}): AdvantagePart {
  const { args, doc, comparesRuns, create } = options;
  return {
    args,
    doc,
    comparesRuns,
    make: (owner, given, seed) => create(readArgs(owner, args, given), seed),
  };
}
