/**
 * Definitions of advantage functions: whether they run on explore steps or on train batches, and
 * the inputs they need there.
 */
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
 * Advantage function for explore steps (`advantage`), for train batches (`batchAdvantage`) or for
 * both. If both exist, they give the same result for a train batch that consists of one explore
 * step, with two exceptions. Random choices may differ (`rec`). If experiences have `tokenRewards`,
 * some functions read `reward` on explore steps (`grpo`), whereas a train batch always sums token
 * rewards.
 */
export interface AdvantageStrategy {
  /**
   * Called in the explorer's pipeline with the experiences of one explore step. All groups are
   * complete.
   */
  readonly advantage?: AdvantageFn;
  /**
   * Called in the trainer with one train batch. Used if `advantage` is missing, or if the trainer
   * subtracts a KL penalty from the rewards.
   */
  readonly batchAdvantage?: BatchAdvantageFn;
  readonly needs?: Partial<AlgorithmNeeds>;
}

/** Properties of an advantage function that can be read without creating the function. */
export interface AdvantageFacts {
  /**
   * True if rollouts are compared with other rollouts of their task. A task with a single rollout
   * then has little or no signal. If the answer depends on the arguments, this is a function of the
   * arguments.
   */
  readonly comparesRuns: boolean | ((args: Readonly<Record<string, unknown>>) => boolean);
  /**
   * Returns how many rollouts of a task are trained on: all, a selection, or at most one.
   * @default all
   */
  readonly keeps?: (args: Readonly<Record<string, unknown>>) => 'all' | 'some' | 'one';
}

/** An advantage function, which is created from its arguments and the seed of the training run. */
export interface AdvantagePart
  extends Part<AdvantageStrategy, readonly [seed: number]>, Required<AdvantageFacts> {
  readonly comparesRuns: (args: Readonly<Record<string, unknown>>) => boolean;
}

export interface AdvantagePartDefinition<S extends ArgSpec> extends AdvantageFacts {
  readonly args: S;
  readonly doc: PartDoc;
  readonly create: (args: ArgValues<S>, seed: number) => AdvantageStrategy;
}

/** Defines an advantage function, typed by its arguments. */
export function defineAdvantagePart<S extends ArgSpec>(
  definition: AdvantagePartDefinition<S>,
): AdvantagePart {
  const { args, doc, comparesRuns, keeps = () => 'all', create } = definition;
  return {
    args,
    doc,
    comparesRuns: typeof comparesRuns === 'function' ? comparesRuns : () => comparesRuns,
    keeps,
    make: (owner, given, seed) => create(readArgs(owner, args, given), seed),
  };
}
