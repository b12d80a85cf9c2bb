/** The rows of `algorithm_type` and `sample_strategy`: which parts make an algorithm, by name. */
import type { ArgSpec } from '@trinity-rft/core';
import type { LossAggMode } from './aggregate.js';
import type { PartDoc } from './part.js';

/**
 * Training data of an algorithm: rollouts, answers to imitate, or pairs of a better and a worse
 * answer.
 */
export type DataSchema = 'experience' | 'sft' | 'dpo' | 'cpt';

/**
 * A row of `algorithm_type`: the parts, by name, unless the configuration says otherwise.
 */
export interface AlgorithmPreset {
  readonly doc: PartDoc;
  readonly schema: DataSchema;
  /** Runs per task. */
  readonly repeatTimes: number;
  /** Undefined: no rewards, so no advantages. */
  readonly advantageFn: PartRef | undefined;
  readonly policyLossFn: PartRef;
  readonly klLossFn: PartRef;
  /** @default none */
  readonly klPenaltyFn?: PartRef;
  readonly entropyLossFn: PartRef;
  readonly sampleStrategy: PartRef;
  readonly lossAggMode: LossAggMode;
  /**
   * Divisor of the sums of `seq-mean-token-sum` and `seq-mean-token-sum-norm`.
   * @default 1, or the longest row
   */
  readonly lossAggNorm?: number | 'max_response_tokens';
  /**
   * Operators of experiences if the configuration names none. An argument `max_response_tokens` is
   * the length limit of the model's answers. @default none
   */
  readonly operators?: readonly PartRef[];
  /**
   * Groups that operators drop are replaced by those of further tasks, unless the configuration says
   * otherwise. @default false
   */
  readonly dynamicSampling?: boolean;
}

/** A row of a table, with arguments that differ from its defaults; names in camelCase. */
export interface PartRef {
  readonly name: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/**
 * How the trainer takes experiences: read by the buffer, so only its arguments are described here.
 */
export interface SampleStrategy {
  readonly args: ArgSpec;
  readonly doc: PartDoc;
}
