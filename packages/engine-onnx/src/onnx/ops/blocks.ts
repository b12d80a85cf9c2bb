/**
 * Matrices in blocks of integers along their rows: w = scale (q - 2^(bits - 1)), with an offset of the block
 * added in some formats.
 */
import type { Dim } from '../graph/dims.js';
import type { Graph, Value } from '../graph/graph.js';
import { add, multiply, subtract } from './elementwise.js';
import { linear } from './matmul.js';
import { cast } from './select.js';
import { columns, concat, reshape } from './shape.js';

export interface BlockFormat {
  readonly bits: 4 | 8;
  /** Numbers of a block; the last block of a row may reach beyond the row. */
  readonly length: 16 | 32;
  readonly hasOffsets: boolean;
}

/** A matrix [out, in] in a graph. */
export interface BlockMatrix extends BlockFormat {
  readonly shape: readonly [out: Dim, input: number];
  /**
   * uint8 [out, blocks, length]; with 4 bits half as wide: {@link blockProduct} expects two
   * neighbours in each byte, the first in the lower bits; {@link blockNumbers} expects the first
   * half of a block in the lower bits, the second in the higher.
   */
  readonly integers: Value;
  /** float32 [out, blocks] */
  readonly scales: Value;
  readonly offsets?: Value;
}

export const blocksOf = (width: number, { length }: Pick<BlockFormat, 'length'>): number =>
  Math.ceil(width / length);

/** Shapes of the tensors of a matrix. */
export function blockShapes<Out extends Dim>(
  [out, width]: readonly [Out, number],
  format: BlockFormat,
): { readonly integers: readonly [Out, number, number]; readonly scales: readonly [Out, number] } {
  const blocks = blocksOf(width, format);
  return { integers: [out, blocks, (format.length * format.bits) / 8], scales: [out, blocks] };
}

/** A matrix that the caller feeds: `<name>.integers`, `<name>.scales` and, if it has them, `<name>.offsets`. */
export function blockInput(
  graph: Graph,
  name: string,
  shape: readonly [Dim, number],
  format: BlockFormat,
): BlockMatrix {
  const dims = blockShapes(shape, format);
  const numbers = (suffix: string): Value =>
    graph.input(`${name}.${suffix}`, 'float32', dims.scales);
  return {
    ...format,
    shape,
    integers: graph.input(`${name}.integers`, 'uint8', dims.integers),
    scales: numbers('scales'),
    ...(format.hasOffsets && { offsets: numbers('offsets') }),
  };
}

/**
 * x W^T, without a gradient. `x` [..., in] -> [..., out]. `accuracy_level` 4: sums of 8-bit integers, to which
 * `x` is rounded in blocks; the bits of a row do not depend on other rows, if the caller avoids
 * single rows as `productRows` says.
 * @param thin computes the product of the sums of x in blocks and the offsets
 */
export function blockProduct(matrix: BlockMatrix, x: Value, thin = linear): Value {
  const { integers, scales, offsets, bits, length, shape } = matrix;
  const [out, width] = shape;
  const product = x.graph.node(
    'MatMulNBits',
    [x, integers, scales],
    { shape: x.shape.with(-1, out) },
    {
      domain: 'com.microsoft',
      attributes: { K: width, N: Number(out), bits, block_size: length, accuracy_level: 4 },
    },
  );
  return offsets ? add(product, thin(blockSums(x, length), offsets)) : product;
}

/** Sums of x in blocks, shared by all matrices that are multiplied with x. [..., in] -> [..., blocks] */
function blockSums(x: Value, length: number): Value {
  const { graph } = x;
  return graph.memo(`sums of ${length} in ${x.id}`, () => {
    const lead = x.shape.slice(0, -1);
    const blocks = Number(x.shape.at(-1)) / length;
    const parts = reshape(x, [...lead, blocks, length]);
    return graph.node(
      'ReduceSum',
      [parts, graph.integers([lead.length + 1])],
      { shape: [...lead, blocks] },
      { attributes: { keepdims: 0 } },
    );
  });
}

/** The matrix in float32, or rows of it that `pick` takes from its tensors. [..., in] */
export function blockNumbers(matrix: BlockMatrix, pick = (from: Value): Value => from): Value {
  const { integers, scales, offsets, bits, length, shape } = matrix;
  const { graph } = integers;
  const [picked, factors] = [pick(integers), pick(scales)];
  const levels = bits === 4 ? halves(picked, length) : picked;
  const column = (value: Value): Value => reshape(value, [...factors.shape, 1]);
  const whole = subtract(cast(levels, 'float32'), graph.scalar(2 ** (bits - 1)));
  const scaled = multiply(whole, column(factors));
  const numbers = offsets ? add(scaled, column(pick(offsets))) : scaled;
  const [, width] = shape;
  const padded = blocksOf(width, matrix) * length;
  const flat = reshape(numbers, [...factors.shape.slice(0, -1), padded]);
  return padded === width ? flat : columns(flat, 0, width);
}

/** The lower bits of all bytes, then the higher. [..., length / 2] -> [..., length] */
function halves(bytes: Value, length: number): Value {
  const { graph, shape } = bytes;
  const constant = (value: number): Value =>
    cast(graph.constant(Int32Array.of(value), []), 'uint8');
  const low = graph.node('BitwiseAnd', [bytes, constant(15)], { shape });
  const high = graph.node(
    'BitShift',
    [bytes, constant(4)],
    { shape },
    { attributes: { direction: 'RIGHT' } },
  );
  return concat([low, high], shape.length - 1, length);
}
