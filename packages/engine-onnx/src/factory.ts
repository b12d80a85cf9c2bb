import type { EngineFactory } from '@trinity-rft/core/engine';

import { onnxCapabilities } from './capabilities.js';
import { createOnnxCritic } from './critic.js';
import { createOnnxEngine } from './engine.js';
import { chooseDevice } from './choose-device.js';
import { onnxOptions, sharedOptions } from './engine-options.js';
import { checkModel } from './check-model.js';
import { gpuModule } from './gpu-module.js';

/**
 * Factory of the embedded engine, which a configuration selects with the name `onnx`. ONNX Runtime
 * is loaded in the worker thread that `open` starts.
 */
export const onnxEngine: EngineFactory = {
  name: 'onnx',
  capabilities: onnxCapabilities,
  open: (options) =>
    createOnnxEngine({
      ...onnxOptions(options),
      runtime: options.device === 'webgpu' ? gpuModule() : undefined,
    }),
  checkModel,
  chooseDevice: (question) => chooseDevice(question),
  openCritic: (options) => createOnnxCritic(sharedOptions(options)),
};
