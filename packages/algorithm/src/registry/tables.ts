/** All presets and parts by their names in YAML. Plugins add entries. */
import type { AdvantagePart } from '../parts/advantage-part.js';
import { advantageFns } from '../advantages/table.js';
import type { EntropyPart } from '../entropy/entropy-loss.js';
import { entropyLossFns } from '../entropy/table.js';
import type { KlPart } from '../kl/kl-function.js';
import { klFns } from '../kl/table.js';
import { experienceOperators } from '../operators/table.js';
import type { OperatorPart } from '../parts/part.js';
import type { PolicyLossPart } from '../parts/policy-loss-part.js';
import type { AlgorithmPreset, SampleStrategy } from '../parts/preset.js';
import { policyLossFns } from '../policy-losses/table.js';
import { algorithmPresets } from '../presets/table.js';
import { sampleStrategies } from '../strategies/table.js';

export interface AlgorithmTables {
  readonly presets: Readonly<Record<string, AlgorithmPreset>>;
  readonly advantageFns: Readonly<Record<string, AdvantagePart>>;
  readonly policyLossFns: Readonly<Record<string, PolicyLossPart>>;
  /** Entries of `kl_loss_fn` and `kl_penalty_fn`. */
  readonly klFns: Readonly<Record<string, KlPart>>;
  readonly entropyLossFns: Readonly<Record<string, EntropyPart>>;
  readonly sampleStrategies: Readonly<Record<string, SampleStrategy>>;
  readonly operators: Readonly<Record<string, OperatorPart>>;
}

/** Tables of the built-in presets and parts, without plugins. */
export const builtInTables: AlgorithmTables = {
  presets: algorithmPresets,
  advantageFns,
  policyLossFns,
  klFns: klFns,
  entropyLossFns,
  sampleStrategies,
  operators: experienceOperators,
};
