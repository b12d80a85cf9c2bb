export { byGroup, type RewardGroup, type ScoreGroup } from './advantages/shared/group-scores.js';
export { onExperiences, type OnExperiencesOptions } from './advantages/shared/on-experiences.js';
export type { AdvantagePart, AdvantageStrategy } from './parts/advantage-part.js';
export * from './advantages/table.js';
export * from './parts/aggregate.js';
export * from './registry/create-algorithm.js';
export * from './registry/definitions.js';
export * from './registry/extend-tables.js';
export * from './entropy/table.js';
export * from './kl/table.js';
export * from './registry/create-operators.js';
export * from './operators/table.js';
export type { PaperRef, Part, PartDoc } from './parts/part.js';
export * from './parts/token-loss.js';
export type {
  BatchLossDefinition,
  PolicyLossPart,
  TokenLossDefinition,
} from './parts/policy-loss-part.js';
export * from './parts/preset.js';
export * from './policy-losses/table.js';
export * from './presets/table.js';
export * from './strategies/expert-count.js';
export * from './strategies/table.js';
export * from './registry/tables.js';
