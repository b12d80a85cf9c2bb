/** Decides whether a model is opened with quantised weights. */
import { join } from 'node:path';

import { ConfigError, EngineError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';

import { holdsAdapterOnly, modelBelow } from '../lora/load-model.js';
import type { LoraOptions, NewAdapters } from '../lora/plan.js';
import type { WorkerOptions } from '../protocol/options.js';
import { isGguf } from '@trinity-rft/chat/gguf';
import { adapterFolder, readBaseRecord } from '../storage/base-record.js';

type Given = Pick<WorkerOptions, 'modelPath' | 'lora' | 'quantization' | 'runtime' | 'samplerOf'>;

/** Options for quantised weights, which replace the corresponding given options. */
export interface Quantized {
  readonly modelPath: string;
  readonly lora: LoraOptions;
  readonly quantization: Quantization;
  readonly checkpoint?: StartCheckpoint;
}

/** Checkpoint whose adapters are the initial adapters. */
interface StartCheckpoint {
  /** Folder of the checkpoint. Its record of the frozen weights must match the loaded weights. */
  readonly directory: string;
  /**
   * The adapters that the caller wants to train. The checkpoint's adapters must have the same rank,
   * scale and layers.
   * @default undefined: the adapters are not compared
   */
  readonly expected?: NewAdapters;
}

/**
 * Returns options for quantised weights, or undefined if the weights are floating-point numbers. If
 * `modelPath` is a folder with adapters that were trained on quantised weights, the options name
 * the frozen model and these adapters.
 * @throws ConfigError if `quantization` is set and there are no adapters to train, or if it differs
 * from the quantization of the folder's adapters; EngineError if the weights are quantised and
 * `runtime` is set
 */
export async function quantizedOptions(given: Given): Promise<Quantized | undefined> {
  const found = await quantizedIn(given);
  if (found === undefined || given.runtime === undefined) return found;
  // The sums of quantised weights need the fixed order of ONNX Runtime's threads.
  throw new EngineError(
    'Quantised weights run on the processor only; remove model.quantization, or use the default runtime.',
    { code: 'ENGINE_QUANTIZED_DEVICE' },
  );
}

async function quantizedIn(given: Given): Promise<Quantized | undefined> {
  const { modelPath, lora, quantization, samplerOf } = given;
  const mayContinue = samplerOf === undefined && !(lora && 'path' in lora);
  const stored = mayContinue ? await storedBeside(modelPath) : undefined;
  if (stored && mayContinue) {
    if (quantization !== undefined && quantization !== stored.quantization)
      throw new ConfigError(
        `quantization is ${quantization}, but the adapter of ${modelPath} was trained beside weights in ${stored.quantization}. Use ${stored.quantization}.`,
        { code: 'QUANTIZATION_OF_CHECKPOINT' },
      );
    return { ...stored, checkpoint: { directory: modelPath, expected: lora } };
  }
  if (quantization !== undefined && lora !== undefined) return { modelPath, lora, quantization };
  if (quantization === undefined) return undefined;
  throw new ConfigError(
    `quantization is ${quantization}, but all weights are to be trained: a step changes a weight by less than ` +
      'the distance of two integers, so nothing would be learned. Train adapters (lora), or leave quantization out.',
    { code: 'QUANTIZATION_NEEDS_ADAPTERS' },
  );
}

/**
 * Returns the adapters of a folder that were trained on quantised weights, with the path and
 * quantization of these weights. Returns undefined for other folders.
 */
async function storedBeside(directory: string): Promise<Omit<Quantized, 'checkpoint'> | undefined> {
  if (isGguf(directory) || !(await holdsAdapterOnly(directory))) return undefined;
  const lora = { path: join(directory, adapterFolder) };
  const { quantization } = (await readBaseRecord(lora.path)) ?? {};
  if (quantization === undefined) return undefined;
  return { modelPath: await modelBelow(directory), lora, quantization };
}
