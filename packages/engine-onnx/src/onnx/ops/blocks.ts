/**
 * Matrices that are block-quantised to integers along their rows: w = scale (q - 2^(bits - 1)).
 * Some formats also add an offset per block.
 */
import type { Dim } from '../graph/dims.js';
import type { Graph, Value } from '../graph/graph.js';
import { add, multiply, subtract } from './elementwise.js';
import { linear } from './matmul.js';
import { cast } from './select.js';
import { columns, concat, reshape } from './shape.js';

export interface BlockFormat {
  readonly bits: 4 | 8;
  /** Number of weights in a block. The last block of a row may extend beyond the row. */
  readonly length: 16 | 32;
  readonly hasOffsets: boolean;
}

/** A matrix [out, in] in a graph. */
export interface BlockMatrix extends BlockFormat {
  readonly shape: readonly [out: Dim, input: number];
  /**
   * Quantised integers q: uint8 [out, blocks, length], or [out, blocks, length / 2] with 4 bits.
   * With 4 bits, {@link blockProduct} expects two adjacent integers in each byte, the first in the
   * lower bits. {@link blockNumbers} expects the first half of a block in the lower bits and the
   * second half in the higher bits.
   */
  readonly integers: Value;
  /** Scale of each block. float32 [out, blocks] */
  readonly scales: Value;
  readonly offsets?: Value;
}

export const blocksOf = (width: number, { length }: Pick<BlockFormat, 'length'>): number =>
  Math.ceil(width / length);

/** Returns the shapes of the tensors of a matrix. */
export function blockShapes<Out extends Dim>(
  [out, width]: readonly [Out, number],
  format: BlockFormat,
): { readonly integers: readonly [Out, number, number]; readonly scales: readonly [Out, number] } {
  const blocks = blocksOf(width, format);
  return { integers: [out, blocks, (format.length * format.bits) / 8], scales: [out, blocks] };
}

/**
 * Declares a matrix as inputs of a graph: `<name>.integers`, `<name>.scales` and, if the format has
 * offsets, `<name>.offsets`.
 */
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
 * Computes x W^T, without a gradient. `x` [..., in] -> [..., out]. With `accuracy_level` 4, the
 * kernel rounds `x` in blocks to 8-bit integers and sums integers. The bits of a row do not depend
 * on other rows if the caller avoids single rows with `productRows`.
 * @param thin function that multiplies the block sums of x by the offsets
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

/**
 * Returns the sums of x over blocks. They are computed once for all matrices that are multiplied by
 * x. [..., in] -> [..., blocks]
 */
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

/**
 * Returns the matrix in float32. If `pick` is given, returns only some rows, which `pick` selects
 * from each of the matrix's tensors. [..., in]
 */
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

/**
 * Returns the lower bits of all bytes, followed by the higher bits. [..., length / 2] -> [...,
 * length]
 */
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
