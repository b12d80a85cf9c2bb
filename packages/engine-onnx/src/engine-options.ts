/** Options of the engine from those of its `EngineFactory`. */
import type { AdapterOptions, CriticEngineOptions, EngineOptions } from '@trinity-rft/core/engine';

import type { OnnxEngineOptions } from './engine.js';
import type { LoraOptions } from './lora/plan.js';

/** Options without the runtime of a device. */
export const onnxOptions = ({
  reference,
  maxModelLen,
  tokenBytes,
  lora,
  quantization,
  interactive,
  seed,
  ...shared
}: EngineOptions): OnnxEngineOptions => ({
  ...sharedOptions(shared),
  reference,
  maxModelLen,
  tokenBytes,
  interactive,
  quantization,
  lora: lora && adaptersOf(lora, seed),
});

const bytesPerMebibyte = 2 ** 20;

/** Options of engine and critic. */
export const sharedOptions = ({ modelPath, threads, memoryBudgetMb }: CriticEngineOptions) => ({
  modelPath,
  threads,
  memoryBudgetBytes: memoryBudgetMb === undefined ? undefined : memoryBudgetMb * bytesPerMebibyte,
});

function adaptersOf(lora: AdapterOptions, seed: number | undefined): LoraOptions {
  if (lora.path !== undefined) return { path: lora.path };
  const { rank, alpha, targetModules } = lora;
  return { rank, alpha, targetModules, seed };
}
