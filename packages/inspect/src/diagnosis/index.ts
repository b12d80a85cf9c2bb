export { diagnose } from './diagnose.js';
export {
  changeIn,
  metricsOf,
  newestRollouts,
  reasonsIn,
  rolloutPages,
  type MetricRole,
  type Point,
  type Role,
  type RolloutFacts,
  type RunRecord,
} from './evidence/record.js';
export { runsOf } from './evidence/groups.js';
export { partNames } from './evidence/parts.js';
export { renderFindings } from './render.js';
export type { Evidence, Finding, RolloutFilter, Rule } from './evidence/rule.js';
export {
  benchmarkScores,
  evaluationChanges,
  verdictOf,
  type EvaluationChange,
  type PairedOf,
  type Verdict,
} from './verdict.js';
export { rules } from './rules/table.js';
export { newestOfSteps, type Measured } from './evidence/series.js';
