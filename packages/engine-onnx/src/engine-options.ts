import type { AdapterOptions, CriticEngineOptions, EngineOptions } from '@trinity-rft/core/engine';

import type { OnnxEngineOptions } from './protocol/options.js';
import type { LoraOptions } from './lora/plan.js';

/**
 * Converts the options of the `EngineFactory` to those of the embedded engine, except `runtime`,
 * which depends on the device.
 */
export const onnxOptions = ({
  reference,
  maxModelLen,
  tokenBytes,
  lora,
  quantization,
  interactive,
  seed,
  logger,
  signal,
  ...shared
}: EngineOptions): OnnxEngineOptions => ({
  ...sharedOptions(shared),
  reference,
  maxModelLen,
  tokenBytes,
  interactive,
  quantization,
  logger,
  signal,
  lora: lora && adaptersOf(lora, seed),
});

const bytesPerMebibyte = 2 ** 20;

/** Converts the options that engine and critic share. */
export const sharedOptions = ({ modelPath, threads, memoryBudgetMb }: CriticEngineOptions) => ({
  modelPath,
  threads,
  memoryBudgetBytes:
    memoryBudgetMb === undefined ? undefined : Math.round(memoryBudgetMb * bytesPerMebibyte),
});

function adaptersOf(lora: AdapterOptions, seed: number | undefined): LoraOptions {
  if (lora.path !== undefined) return { path: lora.path };
  const { rank, alpha, targetModules } = lora;
  return { rank, alpha, targetModules, seed };
}
