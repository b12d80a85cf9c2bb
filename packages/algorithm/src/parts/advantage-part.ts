/** Type of advantage functions: where they can run, and which inputs they need there. */
import type {
  AdvantageFn,
  AlgorithmNeeds,
  ArgSpec,
  ArgValues,
  BatchAdvantageFn,
} from '@trinity-rft/core';
import { readArgs } from '@trinity-rft/core/support';
import type { Part, PartDoc } from './part.js';

/**
 * Has `advantage`, `batchAdvantage` or both. If it has both, the functions agree on a train batch
 * that consists of one explore step, except for random choices (`rec`), and unless experiences have
 * `tokenRewards`: some functions read `reward` on explore steps (`grpo`), while a train batch
 * always sums token rewards.
 */
export interface AdvantageStrategy {
  /** Runs in the explorer's pipeline on one explore step, so that groups are complete. */
  readonly advantage?: AdvantageFn;
  /**
   * Runs in the trainer on one train batch. Used if `advantage` is missing, or if rewards are penalised
   * in the trainer.
   */
  readonly batchAdvantage?: BatchAdvantageFn;
  readonly needs?: Partial<AlgorithmNeeds>;
}

/** Properties that can be read without creating the function. */
export interface AdvantageFacts {
  /**
   * True if runs are compared with other runs of their task, so that a task with a single run
   * teaches little or nothing.
   */
  readonly comparesRuns: boolean | ((args: Readonly<Record<string, unknown>>) => boolean);
}

/** An advantage function, which is created from its arguments and the run's seed. */
export interface AdvantagePart
  extends Part<AdvantageStrategy, readonly [seed: number]>, Required<AdvantageFacts> {}

export interface AdvantagePartDefinition<S extends ArgSpec> extends AdvantageFacts {
  readonly args: S;
  readonly doc: PartDoc;
  readonly create: (args: ArgValues<S>, seed: number) => AdvantageStrategy;
}

/** Defines an advantage function, typed by its arguments. */
export function defineAdvantagePart<S extends ArgSpec>(
  definition: AdvantagePartDefinition<S>,
): AdvantagePart {
  const { args, doc, comparesRuns, create } = definition;
  return {
    args,
    doc,
    comparesRuns,
    make: (owner, given, seed) => create(readArgs(owner, args, given), seed),
  };
}
