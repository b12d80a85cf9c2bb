/**
 * Types of the entries of `algorithm_type` and `sample_strategy`, which name the parts of an
 * algorithm.
 */
import type { ArgSpec } from '@trinity-rft/core';
import type { LossAggMode } from './aggregate.js';
import type { PartDoc } from './part.js';

/**
 * Training data of an algorithm: rollouts, responses to imitate, pairs of a chosen and a rejected
 * response, or plain text.
 */
export type DataSchema = 'experience' | 'sft' | 'dpo' | 'cpt';

/** An entry of `algorithm_type`, which names the parts. A configuration can override them. */
export interface AlgorithmPreset {
  readonly doc: PartDoc;
  readonly schema: DataSchema;
  /** Number of rollouts per task. */
  readonly repeatTimes: number;
  /** Advantage function; undefined if there are no rewards. */
  readonly advantageFn: PartRef | undefined;
  readonly policyLossFn: PartRef;
  readonly klLossFn: PartRef;
  /** Penalty on rewards. @default no penalty */
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
   * Experience operators that are used if the configuration lists no operators. The argument value
   * `max_response_tokens` is replaced with the maximum length of the model's responses.
   * @default no operators
   */
  readonly operators?: readonly PartRef[];
  /**
   * Default of the configuration: true if groups that operators drop are replaced with groups of
   * further tasks.
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
 * The trainer's strategy for taking experiences. The buffer implements the strategy, so only its
 * arguments are described here.
 */
export interface SampleStrategy {
  readonly args: ArgSpec;
  readonly doc: PartDoc;
}
