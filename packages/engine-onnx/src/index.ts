export { measureDevices, type MeasuredDevices, type MeasureOptions } from './choose-device.js';
export {
  createConstraints,
  type AllowedTokens,
  type AnswerConstraint,
  type ConstraintFactory,
} from './sample/constraint/constraint.js';
export { createOnnxCritic, type OnnxCriticOptions } from './critic.js';
export { createOnnxEngine } from './engine.js';
export type { OnnxEngineOptions } from './protocol/options.js';
export { onnxEngine } from './factory.js';
export {
  convertModel,
  type ConvertedModel,
  type ConvertModelOptions,
  type StoredTypeName,
} from './convert.js';
export {
  loadModelFolder,
  saveModelFolder,
  type ModelFiles,
  type ModelFolder,
} from './storage/model-folder.js';
export {
  createModelFolder,
  type NewModelConfig,
  type NewModelOptions,
} from './storage/new-model.js';
export { readModelConfig } from './storage/model-folder.js';
export { openWeights, type StoredWeights } from './storage/open-weights.js';
export { openMergedWeights, type MergedWeights } from './quantized/merged-weights.js';
export type { LoraOptions, NewAdapters, StoredAdapters } from './lora/plan.js';
export type { ModelConfig, ModelFamily, RopeScaling } from './model/config.js';
export { saveTransformersJs, type SaveTransformersOptions } from './transformers-js/save.js';
export type { TransformersDtype } from './transformers-js/stored-weights.js';
