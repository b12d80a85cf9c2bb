/** Entries of `algorithm_type` and `sample_strategy`: the parts that make up an algorithm, by name. */
import type { ArgSpec } from '@trinity-rft/core';
import type { LossAggMode } from './aggregate.js';
import type { PartDoc } from './part.js';

/**
 * Training data of an algorithm: rollouts, answers to imitate, pairs of a better and a worse
 * answer, or plain texts.
 */
export type DataSchema = 'experience' | 'sft' | 'dpo' | 'cpt';

/** An entry of `algorithm_type`: the parts, by name, that a configuration can override. */
export interface AlgorithmPreset {
  readonly doc: PartDoc;
  readonly schema: DataSchema;
  /** Number of runs per task. */
  readonly repeatTimes: number;
  /** Advantage function; undefined if there are no rewards, and so no advantages. */
  readonly advantageFn: PartRef | undefined;
  readonly policyLossFn: PartRef;
  readonly klLossFn: PartRef;
  /** @default no penalty */
  readonly klPenaltyFn?: PartRef;
  readonly entropyLossFn: PartRef;
  readonly sampleStrategy: PartRef;
  readonly lossAggMode: LossAggMode;
  /**
   * Divisor of the sums of `seq-mean-token-sum` and `seq-mean-token-sum-norm`.
   * @default 1 for `seq-mean-token-sum`, the longest sequence for `seq-mean-token-sum-norm`
   */
  readonly lossAggNorm?: number | 'max_response_tokens';
  /**
   * Experience operators if the configuration has none. The argument value `max_response_tokens`
   * stands for the length limit of the model's answers.
   * @default no operators
   */
  readonly operators?: readonly PartRef[];
  /**
   * True if groups that operators drop are replaced by groups of further tasks, unless the
   * configuration says otherwise.
   * @default false
   */
  readonly dynamicSampling?: boolean;
}

/** An entry of a table, and arguments that differ from its defaults, with camelCase names. */
export interface PartRef {
  readonly name: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/**
 * Strategy by which the trainer takes experiences. The buffer implements it, so only the arguments are
 * described here.
 */
export interface SampleStrategy {
  readonly args: ArgSpec;
  readonly doc: PartDoc;
}
