export { createOnnxEngine, type OnnxEngineOptions } from './engine.js';
export { createModelFolder, type NewModelConfig, type NewModelOptions } from './folder/new-model.js';
export {
  companionFiles,
  loadModelFolder,
  readModelFiles,
  saveModelFolder,
  type ModelFiles,
  type ModelFolder,
} from './folder/model-folder.js';
export {
  openSafetensors,
  writeSafetensors,
  type NamedTensor,
  type SafetensorsFile,
  type StoredTensor,
  type WriteOptions,
} from './folder/safetensors.js';
export { parseModelConfig, modelFamilies, type ModelConfig, type ModelFamily, type RopeScaling } from './model/config.js';
