/**
 * Loads the weights of a model in quantised form: the blocks of a quantised GGUF file, or
 * floating-point weights rounded to int8 or int4.
 */
import { ConfigError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';
import { isQuantizedGguf } from '@trinity-rft/chat/gguf';

import { loadModel } from '../lora/load-model.js';
import type { ModelConfig } from '../model/config.js';
import { isRouter, parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { readParameters } from '../storage/model-folder.js';
import { hasWeights } from '../storage/weight-files.js';
import { QuantizedBase, type StoredParameter } from './base.js';
import { blockLength, toBytes, toHalfBytes } from './quantize.js';

const rounding = {
  int8: { bits: 8, round: toBytes },
  int4: { bits: 4, round: toHalfBytes },
} as const;

/**
 * Loads the weights. Memory holds one matrix in float32 at a time. The exception is a folder with
 * only an adapter, for which all merged weights are held in float32.
 * @throws CheckpointError when the weights cannot be read, ConfigError if `kind` is `file` and they
 * are not quantised
 */
export async function loadQuantizedBase(
  modelPath: string,
  config: ModelConfig,
  kind: Quantization,
): Promise<QuantizedBase> {
  const stored = new Map<string, StoredParameter>();
  if (kind === 'file') assertQuantized(modelPath);
  if (await hasWeights(modelPath)) {
    await readParameters(modelPath, config, async (spec, file) => {
      const levels = kind === 'file' ? file.readLevels?.(spec.name) : undefined;
      if (levels) return void stored.set(spec.name, { ...levels, hasOffsets: !!levels.offsets });
      const numbers = new Float32Array(spec.size);
      await file.read(spec.name, numbers);
      stored.set(spec.name, inBlocks(spec, numbers, kind));
    });
  } else {
    const { weights } = await loadModel(modelPath);
    for (const spec of parameterSpecs(config)) {
      const numbers = weights.slice(spec.offset, spec.offset + spec.size);
      stored.set(spec.name, inBlocks(spec, numbers, kind));
    }
  }
  return new QuantizedBase(config, stored);
}

/**
 * Rounds a matrix to blocks. Vectors and routers stay float32, and so does every parameter if
 * `kind` is `file`.
 */
export function inBlocks(
  spec: ParameterSpec,
  numbers: Float32Array,
  kind: Quantization,
): StoredParameter {
  if (kind === 'file' || spec.shape.length !== 2 || isRouter(spec)) return numbers;
  const { bits, round } = rounding[kind];
  const blocks = round(numbers, spec.shape as readonly [number, number]);
  return { bits, length: blockLength, hasOffsets: false, ...blocks };
}

function assertQuantized(modelPath: string): void {
  if (isQuantizedGguf(modelPath)) return;
  throw new ConfigError(
    `quantization is file, but ${modelPath} is not a GGUF file with quantised weights, such as Q8_0 or Q4_K_M. ` +
      'Use int8 or int4, which rounds the weights when they are loaded.',
    { code: 'QUANTIZATION_NOT_IN_FILE' },
  );
}
