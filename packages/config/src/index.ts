export {
  loadConfig,
  parseConfig,
  type LoadConfigOptions,
  type LoadedConfig,
  type ParseConfigOptions,
  type ProblemAt,
} from './load.js';
export type { MemoryPlan } from './plan/memory.js';
export {
  planConfig,
  type GraderPlan,
  type PipelinePlan,
  type PlanOptions,
  type RunPlan,
  type StagePlan,
} from './plan/plan.js';
export type { PlannedPart } from './plan/recipe.js';
export { renderPlan } from './plan/render.js';
export type { StepPlan } from './plan/steps.js';
export {
  algorithmReference,
  type AlgorithmReference,
  type ArgReference,
  type ChosenPart,
  type PartReference,
  type PresetReference,
} from './reference/algorithms.js';
export {
  configJsonSchema,
  type JsonSchema,
  type JsonSchemaOptions,
} from './reference/json-schema.js';
export type { NameTable, NameTables, RewardFacts, WorkflowFacts } from './resolve/base/names.js';
export type * from './resolve/base/resolved.js';
export type { EngineFactsTable } from './schema/engines.js';
export {
  problemsOf,
  renderProblem,
  reportProblem,
  type ProblemReport,
  type ConfigProblem,
  type SourcePosition,
} from './source/problem.js';
export { isSecretKey } from './source/secrets.js';
export type { Vocabulary } from './schema/root.js';
