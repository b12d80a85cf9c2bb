/** Types of the entries of the tables for `algorithm_type` and `sample_strategy`. */
import type { ArgSpec } from '@trinity-rft/core';
import type { LossAggMode } from './aggregate.js';
import type { PartDoc } from './part.js';

/**
 * Training data of an algorithm: rollouts, responses to imitate, pairs of a chosen and a rejected
 * response, or plain text.
 */
export type DataSchema = 'experience' | 'sft' | 'dpo' | 'cpt';

/**
 * An entry of `algorithm_type`: the names of an algorithm's parts, and default settings. A
 * configuration can override each of them.
 */
export interface AlgorithmPreset {
  readonly doc: PartDoc;
  readonly schema: DataSchema;
  /** Number of rollouts per task. */
  readonly repeatTimes: number;
  /** Advantage function; undefined if there are no rewards. */
  readonly advantageFn: PartRef | undefined;
  readonly policyLossFn: PartRef;
  readonly klLossFn: PartRef;
  /** KL penalty on rewards. @default no penalty */
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
   * Experience operators to use if the configuration lists none. In their arguments, the value
   * `max_response_tokens` stands for the maximum length of the model's responses.
   * @default no operators
   */
  readonly operators?: readonly PartRef[];
  /**
   * Default of the configuration's setting for dynamic sampling: true to replace groups that
   * operators drop with groups of further tasks.
   * @default false
   */
  readonly dynamicSampling?: boolean;
}

/**
 * A reference to an entry of a table, with the arguments (in camelCase) that differ from its
 * defaults.
 */
export interface PartRef {
  readonly name: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/**
 * Describes a strategy by which the trainer takes experiences from the buffer. Contains only
 * arguments and documentation, because the buffer implements the strategies.
 */
export interface SampleStrategy {
  readonly args: ArgSpec;
  readonly doc: PartDoc;
}
