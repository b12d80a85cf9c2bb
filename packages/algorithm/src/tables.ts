/** Everything an algorithm can be made of, by the names of YAML; a plugin adds rows. */
import type { ArgSpec } from '@trinity-rft/core';
import type { AdvantagePart } from './advantage/strategy.js';
import { advantageFns } from './advantage/table.js';
import type { LossAggMode } from './aggregate.js';
import type { EntropyPart } from './entropy/entropy-loss.js';
import { entropyLossFns } from './entropy/table.js';
import type { KlPart } from './kl/kl-function.js';
import { klLossFns } from './kl/table.js';
import { experienceOperators, type OperatorPart } from './operator/table.js';
import type { Part, PartDoc, TermWithNeeds } from './part.js';
import { policyLossFns } from './policy-loss/table.js';
import { algorithmPresets } from './presets.js';
import { sampleStrategies } from './sample-strategy/table.js';

/**
 * What an algorithm is trained on: rollouts, answers to imitate, or pairs of a better and a worse
 * answer.
 */
export type DataSchema = 'experience' | 'sft' | 'dpo';

/**
 * A row of `algorithm_type`: the parts, by name, where the configuration does not say otherwise.
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
   * What the sums of `seq-mean-token-sum` and `seq-mean-token-sum-norm` are divided by.
   * @default 1, or the longest row
   */
  readonly lossAggNorm?: number | 'max_response_tokens';
  /** Operators of experiences, where the configuration names none. @default none */
  readonly operators?: readonly PartRef[];
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

export interface AlgorithmTables {
  readonly presets: Readonly<Record<string, AlgorithmPreset>>;
  readonly advantageFns: Readonly<Record<string, AdvantagePart>>;
  readonly policyLossFns: Readonly<Record<string, Part<TermWithNeeds>>>;
  /** Of `kl_loss_fn` and of `kl_penalty_fn`. */
  readonly klFns: Readonly<Record<string, KlPart>>;
  readonly entropyLossFns: Readonly<Record<string, EntropyPart>>;
  readonly sampleStrategies: Readonly<Record<string, SampleStrategy>>;
  readonly operators: Readonly<Record<string, OperatorPart>>;
}

export const builtInTables: AlgorithmTables = {
  presets: algorithmPresets,
  advantageFns,
  policyLossFns,
  klFns: klLossFns,
  entropyLossFns,
  sampleStrategies,
  operators: experienceOperators,
};
