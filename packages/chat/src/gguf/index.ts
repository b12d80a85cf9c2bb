export {
  openGguf,
  type GgufFile,
  type GgufTensor,
  type FileTensor,
  type StoredTensor,
} from './file/gguf-file.js';
export type { GgufValue, Metadata } from './file/header.js';
export type { TypedValue } from './file/typed-value.js';
export { writeGguf, type GgufContent, type TensorToWrite } from './file/write-file.js';
export {
  isGguf,
  isQuantizedGguf,
  openGgufModel,
  readGgufConfig,
  type GgufModel,
} from './gguf-model.js';
export { ggufFamilies } from './model/architecture.js';
export type { WeightTensor } from './model/weights.js';
export type { EncodedType } from './quantization/encoders.js';
export type { TensorLevels } from './quantization/levels.js';
export { tensorTypes, type TensorType } from './quantization/table.js';
export type { BaseModel, ModelCard } from './save/keys.js';
export { saveGgufAdapter, type SaveGgufAdapterOptions } from './save/save-adapter.js';
export {
  saveGgufModel,
  type SaveGgufModelOptions,
  type SavedGguf,
  type WeightSource,
} from './save/save-model.js';
export { ggufFileTypes, type GgufFileType } from './save/types.js';
export type { TokenizerSource } from './tokenizer/source.js';
