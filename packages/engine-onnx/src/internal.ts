export { onnxCapabilities } from './capabilities.js';
export { readModelFiles } from './storage/model-folder.js';
