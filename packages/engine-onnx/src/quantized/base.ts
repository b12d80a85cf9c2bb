/** The frozen weights of a model whose matrices are block-quantised to integers. */
import { createHash } from 'node:crypto';

import { InvariantError } from '@trinity-rft/core';

import { addToHash } from '../lora/frozen-weights.js';
import type { ModelConfig } from '../model/config.js';
import { embeddingName, parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { blockShapes, blocksOf, type BlockFormat } from '../onnx/ops/blocks.js';
import type { Feeds } from '../runtime/graph-runtime.js';
import { floats } from '../runtime/host-arrays.js';
import type { BlockWeights } from '../train/trainable.js';
import type { Quantized } from './quantize.js';

/** The stored data of a block-quantised matrix. */
export interface StoredBlocks extends BlockFormat, Quantized {
  readonly offsets?: Float32Array;
}

/**
 * A stored parameter. Vectors and a few matrices are float32 numbers; the other matrices are
 * block-quantised.
 */
export type StoredParameter = StoredBlocks | Float32Array;

export class QuantizedBase implements BlockWeights {
  readonly config: ModelConfig;
  readonly formats: BlockWeights['formats'];
  /**
   * Graph inputs for all parameters. A float32 parameter has the input `<name>`. For the inputs of
   * a block-quantised matrix, see `blockInput`.
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
      ...parameterSpecs(config).map((spec) => tensorsOf(spec.name, spec.shape, this.of(spec))),
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

  /** Size of all parameters in bytes. */
  get bytes(): number {
    return [...this.#stored.values()]
      .flatMap(arraysOf)
      .reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  embed(ids: Int32Array, name: string): Float32Array {
    const { hiddenSize, layers, perLayerInputs } = this.config;
    const width = name === embeddingName ? hiddenSize : layers * (perLayerInputs?.size ?? 0);
    const table = this.of({ name });
    const rows = new Float32Array(ids.length * width);
    for (const [i, id] of ids.entries()) {
      const into = rows.subarray(i * width, (i + 1) * width);
      if (isBlocks(table)) readRow(table, id, into);
      else into.set(table.subarray(id * width, (id + 1) * width));
    }
    return rows;
  }

  part(name: string, as: string, start: number, end: number): Feeds {
    const { hiddenSize: width } = this.config;
    return tensorsOf(as, [end - start, width], rowsOf(this.of({ name }), width, start, end));
  }

  /**
   * Returns the SHA-256 of all bytes and formats, in hexadecimal. The thread does other work in
   * between.
   */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    for (const { name } of parameterSpecs(this.config)) {
      const stored = this.of({ name });
      const { bits = 0, length = 0 } = isBlocks(stored) ? stored : {};
      hash.update(`${name} ${bits} ${length}\n`);
      for (const array of arraysOf(stored)) await addToHash(hash, array);
    }
    return hash.digest('hex');
  }
}

export const isBlocks = (stored: StoredParameter): stored is StoredBlocks =>
  !(stored instanceof Float32Array);

const arraysOf = (stored: StoredParameter): readonly (Float32Array | Uint8Array)[] =>
  isBlocks(stored)
    ? [stored.integers, stored.scales, ...(stored.offsets ? [stored.offsets] : [])]
    : [stored];

function tensorsOf(name: string, shape: readonly number[], stored: StoredParameter): Feeds {
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
  stored: StoredParameter,
  width: number,
  start: number,
  end: number,
): StoredParameter {
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
