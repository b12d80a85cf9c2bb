/** The embedded engine as an `EngineFactory`, which configurations choose by name. */
import type { AdapterOptions, CriticEngineOptions, EngineFactory } from '@trinity-rft/core/engine';

import { onnxCapabilities } from './capabilities.js';
import { createOnnxCritic } from './critic.js';
import { createOnnxEngine } from './engine.js';
import { checkModel } from './check-model.js';
import { gpuModule } from './gpu-module.js';
import type { LoraOptions } from './lora/plan.js';

/** The engine `onnx`. ONNX Runtime is loaded in the worker thread that `open` starts. */
export const onnxEngine: EngineFactory = {
  name: 'onnx',
  capabilities: onnxCapabilities,
  open: ({
    reference,
    maxModelLen,
    tokenBytes,
    lora,
    quantization,
    interactive,
    device,
    seed,
    ...shared
  }) =>
    createOnnxEngine({
      ...sharedOptions(shared),
      reference,
      maxModelLen,
      tokenBytes,
      interactive,
      quantization,
      runtime: device === 'webgpu' ? gpuModule() : undefined,
      lora: lora && adaptersOf(lora, seed),
    }),
  checkModel,
  openCritic: (options) => createOnnxCritic(sharedOptions(options)),
};

const bytesPerMebibyte = 2 ** 20;

const sharedOptions = ({ modelPath, threads, memoryBudgetMb }: CriticEngineOptions) => ({
  modelPath,
  threads,
  memoryBudgetBytes: memoryBudgetMb === undefined ? undefined : memoryBudgetMb * bytesPerMebibyte,
});

function adaptersOf(lora: AdapterOptions, seed: number | undefined): LoraOptions {
  if (lora.path !== undefined) return { path: lora.path };
  const { rank, alpha, targetModules } = lora;
  return { rank, alpha, targetModules, seed };
}
