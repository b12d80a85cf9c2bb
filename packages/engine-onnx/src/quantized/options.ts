/** Decides whether a model is opened with quantised weights. */
import { join } from 'node:path';

import { ConfigError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';

import { holdsAdapterOnly, modelBelow } from '../lora/load-model.js';
import type { LoraOptions } from '../lora/plan.js';
import { isGguf } from '@trinity-rft/chat/gguf';
import { adapterFolder, readBaseRecord } from '../storage/base-record.js';

interface Given {
  readonly modelPath: string;
  readonly lora?: LoraOptions;
  readonly quantization?: Quantization;
  /** The weights come from another thread. */
  readonly samplerOf?: object;
}

/** Options that replace the given ones. */
interface Quantized {
  readonly modelPath: string;
  readonly lora: LoraOptions;
  readonly quantization: Quantization;
}

/**
 * Undefined: the weights are floating point numbers. A folder with adapters that were trained beside quantised
 * weights is the model below it, with these adapters.
 * @throws ConfigError where all weights are to be trained, which have to be floating point numbers
 */
export async function quantizedOptions(given: Given): Promise<Quantized | undefined> {
  const { modelPath, lora, quantization, samplerOf } = given;
  if (quantization !== undefined && lora !== undefined) return { modelPath, lora, quantization };
  if (quantization !== undefined)
    throw new ConfigError(
      `quantization is ${quantization}, but all weights are to be trained: a step changes a weight by less than ` +
        'the distance of two integers, so nothing would be learned. Train adapters (lora), or leave quantization out.',
      { code: 'QUANTIZATION_NEEDS_ADAPTERS' },
    );
  if (lora !== undefined || samplerOf !== undefined || isGguf(modelPath)) return undefined;
  if (!(await holdsAdapterOnly(modelPath))) return undefined;
  const { quantization: trained } = await readBaseRecord(modelPath);
  if (trained === undefined) return undefined;
  return {
    modelPath: await modelBelow(modelPath),
    lora: { path: join(modelPath, adapterFolder) },
    quantization: trained,
  };
}
