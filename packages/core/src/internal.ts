/** Exports for the packages of the core ring only. This interface is not stable. */
export type {
  AdvantageInput,
  AdvantageOutput,
  Algorithm,
  KlPenalty,
  ValueLossFn,
  ValueLossInput,
} from './algorithm.js';
export { emptyEid, numberKeys, stepKey } from './eid.js';
export { assertAligned } from './experience.js';
export { populationStd, prefixMetrics, sampleStd } from './metrics.js';
export type { FinishReason, ScoreOptions, Vocabulary } from './model.js';
export { readExperience } from './returned-experience.js';
export { type FormatArgs, type RolloutArgs, fieldOf, hasValue } from './task.js';
export { type ExperienceShape, mergeCalls } from './trajectory.js';
