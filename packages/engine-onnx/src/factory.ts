/** The embedded engine as an `EngineFactory`, which configurations choose by name. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { ConfigError } from '@trinity-rft/core';
import type { AdapterOptions, CriticEngineOptions, EngineFactory } from '@trinity-rft/core/engine';

import { onnxCapabilities } from './capabilities.js';
import { createOnnxCritic } from './critic.js';
import { createOnnxEngine } from './engine.js';
import { checkModel } from './check-model.js';
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
      runtime: device && gpuRuntime(),
      lora: lora && adaptersOf(lora, seed),
    }),
  checkModel,
  openCritic: (options) => createOnnxCritic(sharedOptions(options)),
};

/**
 * The module that runs graphs on a GPU: from the project, the program that runs, or beside this package.
 * @throws ConfigError if there is none
 */
function gpuRuntime(): string {
  const program = process.argv[1];
  const places = [path.resolve('package.json'), ...(program ? [realpathSync(program)] : [])];
  for (const from of [...places, import.meta.url])
    try {
      return pathToFileURL(createRequire(from).resolve(gpuPackage)).href;
    } catch {
      // Not there.
    }
  throw new ConfigError(
    `model.device: webgpu needs the package ${gpuPackage}, which is not installed. Run: npm install ${gpuPackage} webgpu`,
    { code: 'PEER_MISSING' },
  );
}

const gpuPackage = '@trinity-rft/engine-webgpu';

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
