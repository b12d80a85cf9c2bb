/** Exports for packages of this repository only. This interface is not stable. */
export { isScorerName, readModuleNames } from './load.js';
export { diskAt } from './resolve/base/disk.js';
export { quantizationOf } from './resolve/model/quantization.js';
export { readModelFolder } from './resolve/model/model-folder.js';
export { stalenessBoundOf } from './resolve/synchronizer.js';
export { trainStepsOf } from './resolve/buffer/train-batch-size.js';
export { configError } from './source/problem.js';
export { redact, showValue } from './source/secrets.js';
