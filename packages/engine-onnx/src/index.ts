export { onnxCapabilities } from './capabilities.js';
export { createOnnxCritic, type OnnxCriticOptions } from './critic.js';
export { createOnnxEngine, type OnnxEngineOptions } from './engine.js';
export { onnxEngine } from './factory.js';
export {
  loadModelFolder,
  readModelFiles,
  saveModelFolder,
  type ModelFiles,
  type ModelFolder,
} from './folder/model-folder.js';
export {
  createModelFolder,
  type NewModelConfig,
  type NewModelOptions,
} from './folder/new-model.js';
export type { LoraOptions, NewAdapters, StoredAdapters } from './lora/plan.js';
export {
  parseModelConfig,
  type ModelConfig,
  type ModelFamily,
  type RopeScaling,
} from './model/config.js';
