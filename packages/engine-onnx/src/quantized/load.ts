/**
 * Loads the weights of a model in quantised form: the blocks of a quantised GGUF file, or
 * floating-point weights rounded to int8 or int4.
 */
import { createHash } from 'node:crypto';

import { ConfigError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';
import { isQuantizedGguf, type FileTensor, type StoredTensor } from '@trinity-rft/chat/gguf';

import { loadModel } from '../lora/load-model.js';
import type { ModelConfig } from '../model/config.js';
import {
  headName,
  isLookup,
  isRouter,
  parameterSpecs,
  type ParameterSpec,
} from '../model/parameters.js';
import { readParameters } from '../storage/model-folder.js';
import { blocksOf } from '../onnx/ops/blocks.js';
import { hasWeights, type WeightFile } from '../storage/weight-files.js';
import { addStored, QuantizedBase, type StoredParameter } from './base.js';
import { blockLength, toBytes, toHalfBytes } from './quantize.js';

const rounding = {
  int8: { bits: 8, round: toBytes },
  int4: { bits: 4, round: toHalfBytes },
} as const;

/** Default maximum number of elements of a matrix that are held in float32 at once. */
const mostNumbers = 2 ** 26;

/**
 * Loads the weights of a model in quantised form. While a matrix is rounded, only some of its rows
 * are in memory as float32. The exception is a folder with only an adapter, whose merged weights
 * are all in memory as float32.
 * @param most maximum number of elements of a matrix that are in memory as float32 at once
 * @throws CheckpointError when the weights cannot be read, ConfigError if `kind` is `file` and they
 * are not quantised
 */
export async function loadQuantizedBase(
  modelPath: string,
  config: ModelConfig,
  kind: Quantization,
  most?: number,
): Promise<QuantizedBase> {
  const stored = new Map<string, StoredParameter>();
  const keep = ({ name }: ParameterSpec, found: ReadParameter): void =>
    void stored.set(name, 'load' in found ? found.load() : found);
  await readQuantized(modelPath, config, kind, keep, most);
  return new QuantizedBase(config, stored);
}

/** A parameter in memory, as blocks or as numbers. */
type LoadedParameter = Exclude<StoredParameter, StoredTensor>;
/** A parameter while its file is open. */
type ReadParameter = LoadedParameter | FileTensor;

/** Returns the digest of the weights that {@link loadQuantizedBase} loads, one at a time. */
export async function digestQuantized(
  modelPath: string,
  config: ModelConfig,
  kind: Quantization,
): Promise<string> {
  const hash = createHash('sha256');
  await readQuantized(modelPath, config, kind, (spec, found) => addStored(hash, spec, found));
  return hash.digest('hex');
}

/** Calls `take` for each parameter, in the order of `parameterSpecs`. */
async function readQuantized(
  modelPath: string,
  config: ModelConfig,
  kind: Quantization,
  take: (spec: ParameterSpec, stored: ReadParameter) => void | Promise<void>,
  most = mostNumbers,
): Promise<void> {
  if (kind === 'file') assertQuantized(modelPath);
  if (await hasWeights(modelPath)) {
    await readParameters(modelPath, config, async (spec, file) => {
      const found = kind === 'file' ? readStored(config, spec, file) : undefined;
      await take(spec, found ?? (await readInBlocks(spec, file, kind, most)));
    });
  } else {
    const { weights } = await loadModel(modelPath);
    for (const spec of parameterSpecs(config)) {
      const numbers = weights.slice(spec.offset, spec.offset + spec.size);
      await take(spec, inBlocks(spec, numbers, kind));
    }
  }
}

/**
 * Reads a parameter as the file holds it. Only rows of embedding tables are read later, so these
 * stay in the format of the file, unless the head multiplies by their blocks. Undefined for a
 * parameter that is read as float32 numbers.
 */
function readStored(
  config: ModelConfig,
  { name }: ParameterSpec,
  file: WeightFile,
): ReadParameter | undefined {
  const levels = isLookup(name) && name !== headName(config) ? undefined : file.readLevels?.(name);
  if (levels) return levels;
  return isLookup(name) ? file.stored?.(name) : undefined;
}

/**
 * Reads a parameter and rounds it as {@link inBlocks} does. Large matrices are processed some rows
 * at a time.
 */
async function readInBlocks(
  spec: ParameterSpec,
  file: WeightFile,
  kind: Quantization,
  most: number,
): Promise<LoadedParameter> {
  const { name, size } = spec;
  const [rows = 1, width = 1] = spec.shape;
  if (size <= most || kind === 'file' || !isRounded(spec)) {
    const numbers = new Float32Array(size);
    await file.read(name, numbers);
    return inBlocks(spec, numbers, kind);
  }
  const { bits, round } = rounding[kind];
  const blocks = blocksOf(width, { length: blockLength });
  const bytes = (blocks * blockLength * bits) / 8;
  const integers = new Uint8Array(rows * bytes);
  const scales = new Float32Array(rows * blocks);
  const step = Math.max(1, Math.floor(most / width));
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    const numbers = new Float32Array(count * width);
    await file.read(name, numbers, row * width);
    const part = round(numbers, [count, width]);
    integers.set(part.integers, row * bytes);
    scales.set(part.scales, row * blocks);
  }
  return { bits, length: blockLength, hasOffsets: false, integers, scales };
}

/** Returns true if a parameter is rounded to integers. Vectors and routers stay float32. */
const isRounded = (spec: ParameterSpec): boolean => spec.shape.length === 2 && !isRouter(spec);

/**
 * Rounds a matrix to blocks of integers. Returns vectors and routers unchanged, and every parameter
 * if `kind` is `file`.
 */
export function inBlocks(
  spec: ParameterSpec,
  numbers: Float32Array,
  kind: Quantization,
): LoadedParameter {
  if (kind === 'file' || !isRounded(spec)) return numbers;
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
