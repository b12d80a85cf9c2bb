export { openGguf, type GgufFile, type GgufTensor } from './file/gguf-file.js';
export type { GgufValue, Metadata } from './file/header.js';
export { isGguf, openGgufModel, readGgufConfig, type GgufModel } from './gguf-model.js';
export { ggufArchitectures, type GgufArchitecture } from './model/config.js';
export type { WeightTensor } from './model/weights.js';
export { tensorTypes, type TensorType } from './quantization/table.js';
