export { AlgorithmConfig, type AlgorithmFields } from './config/algorithm-config.js';
export { DatasetConfig, type DatasetFields, type PreviewOptions } from './config/dataset-config.js';
export {
  TinkerConfig,
  TunerModelConfig,
  type TinkerFields,
  type TunerModelFields,
} from './config/model-config.js';
export { toYaml, type PlanSettings } from './config/plan.js';
export type { TuneSettings } from './config/tree.js';
export {
  checkJudgeFunction,
  checkWorkflowFunction,
  type JudgeInput,
  type JudgeType,
  type ModelAdapter,
  type WorkflowInput,
  type WorkflowType,
} from './functions/functions.js';
export { avgTimeJudge, avgTokenConsumptionJudge } from './functions/judges.js';
export {
  InvalidFunctionError,
  InvalidOutputError,
  JudgeOutput,
  WorkflowOutput,
} from './functions/outputs.js';
export type { MeasuredResponse } from './candidates/run-rows.js';
export {
  comparePromptAndWeights,
  type Cost,
  type PromptAndWeightsOptions,
  type PromptAndWeightsReport,
  type PromptedInput,
  type VariantDifference,
  type VariantName,
  type VariantResult,
} from './compare/prompt-and-weights.js';
export { renderPromptAndWeights } from './compare/render.js';
export {
  selectModel,
  type AdaptedSelectModelOptions,
  type CandidateModel,
  type CandidateResult,
  type SelectedModel,
  type SelectModelOptions,
} from './select-model/select-model.js';
export type { Components, PromptInput, PromptWorkflowType } from './tune-prompt/play-rows.js';
export type { Proposer } from './tune-prompt/propose-prompt.js';
export {
  tunePrompt,
  type PromptTuneConfig,
  type TunedPrompt,
  type TunePromptOptions,
} from './tune-prompt/tune-prompt.js';
export {
  learn,
  LearnConfig,
  type AdaptedLearnOptions,
  type LearnOptions,
  type LearnWorkflow,
} from './tune/learn.js';
export { tune, type AdaptedTuneOptions, type RunSettings, type TuneOptions } from './tune/tune.js';
