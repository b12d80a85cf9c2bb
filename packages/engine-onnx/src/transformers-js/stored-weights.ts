/** Weights of a model as constants of a graph, in each number format that transformers.js loads. */
import type { Graph, Value } from '../onnx/graph/graph.js';
import type { DataType, ExternalBytes } from '../onnx/graph/schema.js';
import { multiply, subtract } from '../onnx/ops/elementwise.js';
import { cast } from '../onnx/ops/select.js';
import { columns, gather, reshape } from '../onnx/ops/shape.js';
import type { ModelConfig } from '../model/config.js';
import { embeddingName, parameterSpecs, type ParameterSpec } from '../model/parameters.js';
import { ropeTables, type RopeShape } from '../model/rope.js';
import type { RopeInputs } from '../model/trunk.js';
import { encodeFloats } from '../storage/dtype.js';
import { assertFits } from '../storage/shards.js';
import type { StoredWeights } from './graph.js';

/**
 * `fp16`: stored in 16 bits, computed in float32. `q8`: matrices in blocks of 32 integers of 8 bits with
 * a scale each, multiplied as integers.
 */
export type TransformersDtype = 'fp32' | 'fp16' | 'q8';

/** Where the bytes of a constant go: into the model file, or into one beside it. */
export type Place = (bytes: Uint8Array) => Promise<Uint8Array | ExternalBytes>;

interface Stored {
  readonly graph: Graph;
  readonly config: ModelConfig;
  /** All parameters in the layout of `parameterSpecs(config)`. */
  readonly weights: Float32Array;
  readonly place: Place;
}

/** @throws CheckpointError when a weight is too large for the format */
export async function storeWeights(
  dtype: TransformersDtype,
  stored: Stored,
): Promise<StoredWeights> {
  const tables = await storeTables(stored);
  return dtype === 'q8' ? inBlocks(stored, tables) : plain(dtype, stored, tables);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

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

/** For every position of the model, and one more: some families count from 1. */
async function storeTables(stored: Stored): Promise<RopeInputs> {
  const { config } = stored;
  const { headDim, localRope, maxPositions } = config;
  const pair = async (shape: RopeShape, suffix: string): Promise<RopeInputs['global']> => {
    const { cos, sin, length } = ropeTables(shape, maxPositions + 1);
    const dims = [length, headDim / 2];
    return {
      cos: await put(stored, `rope_cos${suffix}`, 'float32', dims, bytesOf(cos)),
      sin: await put(stored, `rope_sin${suffix}`, 'float32', dims, bytesOf(sin)),
    };
  };
  const local = localRope && {
    headDim,
    ropeTheta: localRope.theta,
    ropeScaling: localRope.scaling,
  };
  return { global: await pair(config, ''), local: local && (await pair(local, '_local')) };
}

/** Vectors stay in float32: they are few, and norms are sensitive. */
async function plain(
  dtype: 'fp32' | 'fp16',
  stored: Stored,
  tables: RopeInputs,
): Promise<StoredWeights> {
  const parameters = new Map<string, Value>();
  for (const spec of parameterSpecs(stored.config)) {
    const { name, shape } = spec;
    const numbers = numbersOf(stored, spec);
    if (dtype === 'fp32' || shape.length < 2) {
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

const blockSize = 32;
const zeroPoint = 128;

/** Routers choose experts: a rounded one would choose others. */
const isRouter = (name: string): boolean => name.endsWith('.mlp.gate.weight');

async function inBlocks(stored: Stored, tables: RopeInputs): Promise<StoredWeights> {
  const blocks = new Map<Value, (x: Value) => Value>();
  const parameters = new Map<string, Value>();
  let embed: StoredWeights['embed'] | undefined;
  for (const spec of parameterSpecs(stored.config)) {
    const { name, shape } = spec;
    const numbers = numbersOf(stored, spec);
    if (shape.length < 2 || isRouter(name)) {
      parameters.set(name, await put(stored, name, 'float32', shape, bytesOf(numbers)));
      continue;
    }
    const matrix = await storeBlocks(stored, spec, numbers);
    const whole = rowsOf(matrix, undefined);
    parameters.set(name, whole);
    blocks.set(whole, (x) => blockProduct(matrix, x));
    if (name === embeddingName) embed = (ids) => rowsOf(matrix, ids);
  }
  return { parameters, tables, blocks, embed: embed! };
}

/** A matrix in blocks along its rows, of which the last may reach beyond it. */
interface BlockMatrix {
  /** uint8 [out, blocks, 32] */
  readonly integers: Value;
  /** float32 [out, blocks] */
  readonly scales: Value;
  /** [out, in] */
  readonly shape: readonly [number, number];
}

async function storeBlocks(
  stored: Stored,
  spec: ParameterSpec,
  numbers: Float32Array,
): Promise<BlockMatrix> {
  const shape = spec.shape as readonly [number, number];
  const { integers, scales } = toBlocks(numbers, shape);
  const count = Math.ceil(shape[1] / blockSize);
  const dims = [shape[0], count];
  return {
    integers: await put(stored, `${spec.name}_q8`, 'uint8', [...dims, blockSize], integers),
    scales: await put(stored, `${spec.name}_scales`, 'float32', dims, bytesOf(scales)),
    shape,
  };
}

/** x ~ (integer - 128) scale with scale = max |x| / 127 of the block. */
export function toBlocks(
  numbers: Float32Array,
  [rows, width]: readonly [number, number],
): { readonly integers: Uint8Array; readonly scales: Float32Array } {
  const count = Math.ceil(width / blockSize);
  const integers = new Uint8Array(rows * count * blockSize).fill(zeroPoint);
  const scales = new Float32Array(rows * count);
  for (let row = 0; row < rows; row++)
    for (let block = 0; block < count; block++) {
      const start = row * width + block * blockSize;
      const part = numbers.subarray(start, Math.min(start + blockSize, (row + 1) * width));
      let largest = 0;
      for (const value of part) largest = Math.max(largest, Math.abs(value));
      const at = row * count + block;
      const scale = (scales[at] = largest / (zeroPoint - 1));
      if (scale > 0)
        part.forEach((value, i) => {
          integers[at * blockSize + i] = zeroPoint + Math.round(value / scale);
        });
    }
  return { integers, scales };
}

/** `x` [..., in] -> [..., out]. `accuracy_level` 4: sums of 8-bit integers, the only fast ones. */
function blockProduct({ integers, scales, shape: [out, width] }: BlockMatrix, x: Value): Value {
  return x.graph.node(
    'MatMulNBits',
    [x, integers, scales],
    { shape: x.shape.with(-1, out) },
    {
      domain: 'com.microsoft',
      attributes: { K: width, N: out, bits: 8, block_size: blockSize, accuracy_level: 4 },
    },
  );
}

/** Rows in float32, all or by `ids`, from the blocks of the matrix itself: WebAssembly has no operator for it. */
function rowsOf(
  { integers, scales, shape: [, width] }: BlockMatrix,
  ids: Value | undefined,
): Value {
  const pick = (from: Value): Value => (ids ? gather(from, ids) : from);
  const whole = subtract(cast(pick(integers), 'float32'), integers.graph.scalar(zeroPoint));
  const factors = pick(scales);
  const scaled = multiply(whole, reshape(factors, [...factors.shape, 1]));
  const padded = Math.ceil(width / blockSize) * blockSize;
  const flat = reshape(scaled, [...factors.shape.slice(0, -1), padded]);
  return padded === width ? flat : columns(flat, 0, width);
}
