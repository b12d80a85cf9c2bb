/**
 * Stores the weights of a model as constants of a graph, in each data type that transformers.js
 * loads.
 */
import type { Graph, Value } from '../onnx/graph/graph.js';
import type { Place } from '../onnx/external-files.js';
import type { DataType } from '../onnx/graph/record.js';
import {
  blockNumbers,
  blockProduct,
  blockShapes,
  type BlockFormat,
  type BlockMatrix,
} from '../onnx/ops/blocks.js';
import { cast } from '../onnx/ops/select.js';
import { gather } from '../onnx/ops/shape.js';
import type { ModelConfig } from '../model/config.js';
import {
  embeddingName,
  isRouter,
  parameterSpecs,
  type ParameterSpec,
} from '../model/parameters.js';
import { localRopeShape, ropeTables, rotatedWidth, type RopeShape } from '../model/rope.js';
import type { RopeInputs } from '../model/trunk.js';
import { blockLength, toBytes } from '../quantized/quantize.js';
import { bytesOf } from '../runtime/host-arrays.js';
import { encodeFloats } from '../storage/dtype.js';
import { assertFits } from '../storage/shards.js';
import type { StoredWeights } from './graph.js';

/**
 * Data type of the weights. `fp16` is stored in 16 bits and computed in float32. `q8` stores
 * matrices in blocks of 32 integers of 8 bits, with a scale per block, and multiplies integers.
 */
export type TransformersDtype = 'fp32' | 'fp16' | 'q8';

interface Stored {
  readonly graph: Graph;
  readonly config: ModelConfig;
  /** All parameters in the layout of `parameterSpecs(config)`. */
  readonly weights: Float32Array;
  readonly place: Place;
}

/**
 * Stores the weights as constants of the graph.
 * @throws CheckpointError when a weight is too large for the data type
 */
export async function storeWeights(
  dtype: TransformersDtype,
  stored: Stored,
): Promise<StoredWeights> {
  const tables = await storeTables(stored);
  return dtype === 'q8' ? inBlocks(stored, tables) : plain(dtype, stored, tables);
}

async function put(
  { graph, place }: Stored,
  name: string,
  dtype: DataType,
  shape: readonly number[],
  bytes: Uint8Array,
): Promise<Value> {
  return graph.stored(name, { dtype, shape, bytes: await place(bytes) });
}

const numbersOf = ({ weights }: Stored, { offset, size }: ParameterSpec): Float32Array =>
  weights.subarray(offset, offset + size);

/**
 * Stores rotary tables for one position more than the model supports, because some families count
 * positions from 1.
 */
async function storeTables(stored: Stored): Promise<RopeInputs> {
  const { config } = stored;
  const local = localRopeShape(config);
  const pair = async (shape: RopeShape, suffix: string): Promise<RopeInputs['global']> => {
    const { cos, sin, length } = ropeTables(shape, config.maxPositions + 1);
    const dims = [length, rotatedWidth(shape) / 2];
    return {
      cos: await put(stored, `rope_cos${suffix}`, 'float32', dims, bytesOf(cos)),
      sin: await put(stored, `rope_sin${suffix}`, 'float32', dims, bytesOf(sin)),
    };
  };
  return { global: await pair(config, ''), local: local && (await pair(local, '_local')) };
}

/**
 * Stores weights as `fp32` or `fp16`. Vectors stay in float32, because they are small and norms are
 * sensitive to rounding.
 */
async function plain(
  dtype: 'fp32' | 'fp16',
  stored: Stored,
  tables: RopeInputs,
): Promise<StoredWeights> {
  const parameters = new Map<string, Value>();
  for (const spec of parameterSpecs(stored.config)) {
    const { name, shape } = spec;
    const numbers = numbersOf(stored, spec);
    if (dtype === 'fp32' || shape.length !== 2) {
      parameters.set(name, await put(stored, name, 'float32', shape, bytesOf(numbers)));
      continue;
    }
    assertFits({ name, data: numbers }, 'F16', 'fp32 or q8');
    const halves = await put(stored, name, 'float16', shape, encodeFloats(numbers, 'F16'));
    parameters.set(name, cast(halves, 'float32'));
  }
  const embedding = parameters.get(embeddingName);
  return { parameters, tables, embed: (ids) => gather(embedding!, ids) };
}

async function inBlocks(stored: Stored, tables: RopeInputs): Promise<StoredWeights> {
  const products = new Map<Value, (x: Value) => Value>();
  const parameters = new Map<string, Value>();
  let embed: StoredWeights['embed'] | undefined;
  for (const spec of parameterSpecs(stored.config)) {
    const { name, shape } = spec;
    const numbers = numbersOf(stored, spec);
    if (shape.length !== 2 || isRouter(spec)) {
      parameters.set(name, await put(stored, name, 'float32', shape, bytesOf(numbers)));
      continue;
    }
    const matrix = await storeBlocks(stored, spec, numbers);
    parameters.set(name, matrix.integers);
    products.set(matrix.integers, (x) => blockProduct(matrix, x));
    // Embeddings are computed from the blocks of the matrix itself, because WebAssembly has no
    // operator for looking up quantised rows.
    if (name === embeddingName) embed = (ids) => blockNumbers(matrix, (from) => gather(from, ids));
  }
  return { parameters, tables, products, embed: embed! };
}

/** Block format of `q8`. */
const format: BlockFormat = { bits: 8, length: blockLength, hasOffsets: false };

async function storeBlocks(
  stored: Stored,
  spec: ParameterSpec,
  numbers: Float32Array,
): Promise<BlockMatrix> {
  const shape = spec.shape as readonly [number, number];
  const { integers, scales } = toBytes(numbers, shape);
  const dims = blockShapes(shape, format);
  return {
    ...format,
    shape,
    integers: await put(stored, `${spec.name}_q8`, 'uint8', dims.integers, integers),
    scales: await put(stored, `${spec.name}_scales`, 'float32', dims.scales, bytesOf(scales)),
  };
}
