export { onnxCapabilities } from './capabilities.js';
export { readModelFiles } from './folder/model-folder.js';
