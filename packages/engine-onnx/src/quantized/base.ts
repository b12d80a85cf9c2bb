/** The frozen weights of a model whose matrices are block-quantised to integers. */
import { createHash, type Hash } from 'node:crypto';

import { InvariantError } from '@trinity-rft/core';
import type { StoredTensor } from '@trinity-rft/chat/gguf';

import { addToHash } from '../lora/frozen-weights.js';
import type { ModelConfig } from '../model/config.js';
import {
  embeddingName,
  parameterSpecs,
  wholeParameters,
  type ParameterSpec,
} from '../model/parameters.js';
import { blockShapes, blocksOf, type BlockFormat } from '../onnx/ops/blocks.js';
import type { Feeds } from '../runtime/graph-runtime.js';
import { floats } from '../runtime/host-arrays.js';
import { rowParts } from '../storage/open-weights.js';
import type { BlockWeights } from '../train/trainable.js';
import type { Quantized } from './quantize.js';

/** The stored data of a block-quantised matrix. */
export interface StoredBlocks extends BlockFormat, Quantized {
  readonly offsets?: Float32Array;
}

/**
 * A stored parameter. Vectors and a few matrices are float32 numbers; the other matrices are
 * block-quantised, except embedding tables in the format of a GGUF file.
 */
export type StoredParameter = StoredBlocks | StoredTensor | Float32Array;

export class QuantizedBase implements BlockWeights {
  readonly config: ModelConfig;
  readonly formats: BlockWeights['formats'];
  /**
   * Graph inputs for all parameters but tables in the format of a file, which {@link embed} and
   * {@link part} decode. A float32 parameter has the input `<name>`. For the inputs of a
   * block-quantised matrix, see `blockInput`.
   */
  readonly feeds: Feeds;
  readonly #stored: ReadonlyMap<string, StoredParameter>;

  constructor(config: ModelConfig, stored: ReadonlyMap<string, StoredParameter>) {
    this.config = config;
    this.#stored = stored;
    this.formats = new Map(
      [...stored].flatMap(([name, value]) => (isBlocks(value) ? [[name, value] as const] : [])),
    );
    this.feeds = Object.assign(
      {},
      ...parameterSpecs(config).map((spec) => {
        const stored = this.of(spec);
        return isTensor(stored) ? {} : tensorsOf(spec.name, spec.shape, stored);
      }),
    ) as Feeds;
  }

  /**
   * Returns the stored data of a parameter.
   * @throws InvariantError when there is no such parameter
   */
  of({ name }: Pick<ParameterSpec, 'name'>): StoredParameter {
    const found = this.#stored.get(name);
    if (found) return found;
    throw new InvariantError(`The model has no parameter ${name}.`);
  }

  /**
   * Size in bytes of the parameters inside the graphs of {@link QuantizedModel}: all but tables of
   * which only rows are looked up.
   */
  get graphBytes(): number {
    return wholeParameters(this.config)
      .flatMap((spec) => {
        const stored = this.of(spec);
        return isTensor(stored) ? [4 * spec.size] : arraysOf(stored).map((each) => each.byteLength);
      })
      .reduce((sum, bytes) => sum + bytes, 0);
  }

  embed(ids: Int32Array, name: string): Float32Array {
    const { hiddenSize, layers, perLayerInputs } = this.config;
    const width = name === embeddingName ? hiddenSize : layers * (perLayerInputs?.size ?? 0);
    const table = this.of({ name });
    const rows = new Float32Array(ids.length * width);
    for (const [i, id] of ids.entries()) {
      decodeRow(table, id, rows.subarray(i * width, (i + 1) * width));
    }
    return rows;
  }

  part(name: string, as: string, start: number, end: number): Feeds {
    const { hiddenSize: width } = this.config;
    const shape = [end - start, width];
    const stored = this.of({ name });
    if (!isTensor(stored)) return tensorsOf(as, shape, rowsOf(stored, width, start, end));
    const numbers = new Float32Array((end - start) * width);
    stored.read(numbers, start * width);
    return { [as]: floats(numbers, shape) };
  }

  /**
   * Returns the SHA-256 of all blocks and numbers, in hexadecimal, whether they are stored as such or
   * decoded. The thread does other work in between.
   */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    for (const spec of parameterSpecs(this.config)) await addStored(hash, spec, this.of(spec));
    return hash.digest('hex');
  }
}

/** Adds a parameter to the hash of {@link QuantizedBase.digest}. */
export async function addStored(
  hash: Hash,
  spec: ParameterSpec,
  stored: StoredParameter,
): Promise<void> {
  const { bits = 0, length = 0 } = formatOf(stored) ?? {};
  hash.update(`${spec.name} ${bits} ${length}\n`);
  const arrays = isTensor(stored) ? decodedArrays(spec, stored) : arraysOf(stored);
  for (const array of arrays) await addToHash(hash, array);
}

export const isBlocks = (stored: StoredParameter): stored is StoredBlocks => 'integers' in stored;

export const isTensor = (stored: StoredParameter): stored is StoredTensor => 'read' in stored;

/** Returns the format of the blocks of a parameter; undefined for floating point numbers. */
function formatOf(stored: StoredParameter): BlockFormat | undefined {
  if (isBlocks(stored)) return stored;
  return isTensor(stored) ? stored.levels : undefined;
}

/** Yields the float32 numbers of a tensor of floating point numbers, some rows at a time. */
export function* decodedNumbers(
  spec: ParameterSpec,
  stored: StoredTensor,
): Generator<Float32Array> {
  for (const { start, count } of rowParts(spec.shape)) {
    const numbers = new Float32Array(count);
    stored.read(numbers, start);
    yield numbers;
  }
}

/** Yields what {@link arraysOf} returns for the decoded tensor, in parts. */
function* decodedArrays(spec: ParameterSpec, stored: StoredTensor) {
  const { levels } = stored;
  if (!levels) return yield* decodedNumbers(spec, stored);
  for (const part of rowParts(spec.shape)) yield levels.readIntegers(part);
  for (const part of rowParts(spec.shape)) yield levels.readScales(part).scales;
  if (levels.hasOffsets)
    for (const part of rowParts(spec.shape)) yield levels.readScales(part).offsets!;
}

const arraysOf = (stored: StoredBlocks | Float32Array): readonly (Float32Array | Uint8Array)[] =>
  isBlocks(stored)
    ? [stored.integers, stored.scales, ...(stored.offsets ? [stored.offsets] : [])]
    : [stored];

function tensorsOf(
  name: string,
  shape: readonly number[],
  stored: StoredBlocks | Float32Array,
): Feeds {
  if (!isBlocks(stored)) return { [name]: floats(stored, shape) };
  const { integers, scales, offsets } = stored;
  const dims = blockShapes(shape as readonly [number, number], stored);
  return {
    [`${name}.integers`]: { dtype: 'uint8', shape: dims.integers, data: integers },
    [`${name}.scales`]: floats(scales, dims.scales),
    ...(offsets && { [`${name}.offsets`]: floats(offsets, dims.scales) }),
  };
}

/** Returns views of the rows from `start` up to, but not including, `end`. */
function rowsOf(
  stored: StoredBlocks | Float32Array,
  width: number,
  start: number,
  end: number,
): StoredBlocks | Float32Array {
  if (!isBlocks(stored)) return stored.subarray(start * width, end * width);
  const blocks = blocksOf(width, stored);
  const bytes = (blocks * stored.length * stored.bits) / 8;
  const { integers, scales, offsets } = stored;
  return {
    ...stored,
    integers: integers.subarray(start * bytes, end * bytes),
    scales: scales.subarray(start * blocks, end * blocks),
    ...(offsets && { offsets: offsets.subarray(start * blocks, end * blocks) }),
  };
}

/** Converts a row of a matrix to float32. The width is the length of `into`. */
export function decodeRow(stored: StoredParameter, row: number, into: Float32Array): void {
  const [start, count] = [row * into.length, into.length];
  if (stored instanceof Float32Array) return into.set(stored.subarray(start, start + count));
  if (isBlocks(stored)) return readRow(stored, row, into);
  const { levels } = stored;
  if (!levels) return stored.read(into, start);
  const part = { start, count };
  readRow({ ...levels, integers: levels.readIntegers(part), ...levels.readScales(part) }, 0, into);
}

/**
 * Converts a row to float32. Rounds twice, as the operators of graphs do: after multiplying by the
 * scale, and after adding the offset.
 */
export function readRow(stored: StoredBlocks, row: number, into: Float32Array): void {
  const { bits, length, integers, scales, offsets } = stored;
  const blocks = blocksOf(into.length, stored);
  const [zero, half] = [2 ** (bits - 1), length / 2];
  for (let i = 0; i < into.length; i++) {
    const [block, within] = [row * blocks + Math.floor(i / length), i % length];
    const q =
      bits === 8
        ? integers[block * length + within]!
        : (integers[block * half + (within % half)]! >> (within < half ? 0 : 4)) & 15;
    into[i] = scales[block]! * (q - zero);
    if (offsets) into[i] = into[i]! + offsets[block]!;
  }
}
