/** Exports for packages of this repository only. This interface is not stable. */
export { isScorerName, readModuleNames } from './load.js';
export { comparesRuns } from './resolve/algorithm/algorithm.js';
export { diskAt } from './resolve/base/disk.js';
export { lastTrained, mapStages } from './resolve/base/stages.js';
export { withLayers } from './resolve/model/lora.js';
export { weightsOf } from './resolve/model/base-weights.js';
export { weightsProblem } from './resolve/model/quantization.js';
export { linearModulesOf, readModelFolder } from './resolve/model/model-folder.js';
export { stalenessBoundOf } from './resolve/synchronizer.js';
export { trainStepsOf } from './resolve/buffer/train-batch-size.js';
export { configError, sortProblems } from './source/problem.js';
export { redact, showValue } from './source/secrets.js';
