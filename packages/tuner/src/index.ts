export { AlgorithmConfig, type AlgorithmFields } from './config/algorithm-config.js';
export { DatasetConfig, type DatasetFields, type PreviewOptions } from './config/dataset-config.js';
export {
  TinkerConfig,
  TunerModelConfig,
  type TinkerFields,
  type TunerModelFields,
} from './config/model-config.js';
export type { TuneSettings } from './config/tree.js';
export {
  checkJudgeFunction,
  checkWorkflowFunction,
  type JudgeInput,
  type JudgeType,
  type ModelAdapter,
  type WorkflowInput,
  type WorkflowType,
} from './functions.js';
export { avgTimeJudge, avgTokenConsumptionJudge } from './judges.js';
export * from './learn.js';
export {
  InvalidFunctionError,
  InvalidOutputError,
  JudgeOutput,
  WorkflowOutput,
} from './outputs.js';
export { toYaml, type PlanSettings } from './plan.js';
export * from './select-model.js';
export * from './tune-prompt.js';
export { tune, type AdaptedTuneOptions, type RunSettings, type TuneOptions } from './tune.js';
