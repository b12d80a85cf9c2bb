/** Public API: algorithms by name, and definitions that plugins export. */
export {
  defineAdvantage,
  defineAlgorithm,
  defineOperator,
  definePolicyLoss,
  type AdvantageDefinition,
  type AlgorithmDefinition,
  type AlgorithmPluginOptions,
  type Definition,
  type OperatorDefinition,
  type PolicyLossFnDefinition,
} from './registry/definitions.js';
export { builtInTables, type AlgorithmTables } from './registry/tables.js';
export { extendTables } from './registry/extend-tables.js';
export {
  createAlgorithm,
  type AlgorithmContext,
  type AlgorithmOptions,
} from './registry/create-algorithm.js';
export { createOperators } from './registry/create-operators.js';
export { byGroup, type RewardGroup, type ScoreGroup } from './advantages/shared/group-scores.js';
export { onExperiences, type OnExperiencesOptions } from './advantages/shared/on-experiences.js';
export type { AdvantageFacts, AdvantagePart, AdvantageStrategy } from './parts/advantage-part.js';
export type { LossAggMode } from './parts/aggregate.js';
export type { OperatorPart, PaperRef, Part, PartDoc } from './parts/part.js';
export type {
  BatchLossDefinition,
  PolicyLossPart,
  TokenLossDefinition,
} from './parts/policy-loss-part.js';
export type { AlgorithmPreset, DataSchema, PartRef, SampleStrategy } from './parts/preset.js';
export type { BatchLoss, RowQuantities, TokenQuantities, TokenResult } from './parts/token-loss.js';
export { pack, rowsOf } from './advantages/shared/pack-rows.js';
