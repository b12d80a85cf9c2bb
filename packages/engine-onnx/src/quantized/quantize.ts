/** Rounds the rows of a matrix to blocks of integers. */
import { blocksOf } from '../onnx/ops/blocks.js';

/**
 * A quantised matrix: integers as bytes, and the scale of each block. With 4 bits, a byte holds two
 * integers: one of the first half of a block in the lower bits, and one of the second half in the
 * higher bits. This layout is the fastest to unpack.
 */
export interface Quantized {
  readonly integers: Uint8Array;
  readonly scales: Float32Array;
}

export const blockLength = 32;
const [zero8, zero4] = [128, 8];
const half = blockLength / 2;

/** Rounds to w ~ scale (q - 128) with scale = max |w| / 127 of the block. */
export function toBytes(
  numbers: Float32Array,
  [rows, width]: readonly [number, number],
): Quantized {
  const count = blocksOf(width, { length: blockLength });
  const integers = new Uint8Array(rows * count * blockLength).fill(zero8);
  const scales = new Float32Array(rows * count);
  eachBlock(rows, width, (start, end, at) => {
    const scale = (scales[at] = largestIn(numbers, start, end) / (zero8 - 1));
    if (scale === 0) return;
    // Rounds by truncation, because `Math.round` takes twice as long.
    for (let i = start; i < end; i++)
      integers[at * blockLength + i - start] = (numbers[i]! / scale + zero8 + 0.5) | 0;
  });
  return { integers, scales };
}

/**
 * Divisors that determine the candidate scales of a block. Each candidate is the weight of largest
 * magnitude divided by a divisor, so that this weight is about -8 in units of the scale.
 */
const divisors = [-7.4, -7.7, -8, -8.3, -8.6];

/** Rounds to w ~ scale (q - 8), with the candidate scale of smallest squared error. */
export function toHalfBytes(
  numbers: Float32Array,
  [rows, width]: readonly [number, number],
): Quantized {
  const count = blocksOf(width, { length: blockLength });
  const integers = new Uint8Array((rows * count * blockLength) / 2).fill(zero4 * 17);
  const scales = new Float32Array(rows * count);
  eachBlock(rows, width, (start, end, at) => {
    const found = bestScale(numbers, start, end);
    if (!found) return;
    scales[at] = found.scale;
    for (let i = start; i < end; i++) {
      const byte = at * half + ((i - start) % half);
      const q = level(numbers[i]! * found.inverse);
      integers[byte] =
        i - start < half ? (integers[byte]! & 240) | q : (integers[byte]! & 15) | (q << 4);
    }
  });
  return { integers, scales };
}

/** Calls `visit` for each block with its index `at` and the range [start, end) of its numbers. */
function eachBlock(
  rows: number,
  width: number,
  visit: (start: number, end: number, at: number) => void,
): void {
  for (let row = 0, at = 0; row < rows; row++)
    for (let column = 0; column < width; column += blockLength, at++)
      visit(row * width + column, row * width + Math.min(column + blockLength, width), at);
}

function largestIn(numbers: Float32Array, start: number, end: number): number {
  let largest = 0;
  for (let i = start; i < end; i++) largest = Math.max(largest, Math.abs(numbers[i]!));
  return largest;
}

/**
 * Rounds `value` + 8 to an integer from 0 to 15, where `value` is a weight in units of the scale
 * and at least -9.
 */
function level(value: number): number {
  const counted = (value + zero4 + 0.5) | 0;
  return counted < 2 * zero4 ? counted : 2 * zero4 - 1;
}

/**
 * Returns the best scale of a block, or undefined if all of its numbers are 0. For weights w and
 * integers q, the best scale is (w q) / (q q), with the squared error w w - (w q)^2 / (q q), where
 * products are dot products.
 */
function bestScale(
  numbers: Float32Array,
  start: number,
  end: number,
): { readonly scale: number; readonly inverse: number } | undefined {
  let extreme = 0;
  for (let i = start; i < end; i++)
    if (Math.abs(numbers[i]!) > Math.abs(extreme)) extreme = numbers[i]!;
  if (extreme === 0) return undefined;
  let scale = 0;
  let best = -1;
  let chosen = 0;
  for (const divisor of divisors) {
    const inverse = divisor / extreme;
    let product = 0;
    let squares = 0;
    for (let i = start; i < end; i++) {
      const w = numbers[i]!;
      const q = level(w * inverse) - zero4;
      product += w * q;
      squares += q * q;
    }
    const explained = (product * product) / squares;
    if (explained > best) {
      scale = product / squares;
      best = explained;
      chosen = inverse;
    }
  }
  return { scale, inverse: chosen };
}

/**
 * Reorders 4-bit integers for `MatMulNBits`: two adjacent integers in each byte, the first in the
 * lower bits.
 */
export function paired(integers: Uint8Array): Uint8Array {
  const found = new Uint8Array(integers.length);
  for (let block = 0; block < integers.length; block += half)
    for (let i = 0; i < half / 2; i++) {
      const first = integers[block + 2 * i]!;
      const second = integers[block + 2 * i + 1]!;
      found[block + i] = (first & 15) | ((second & 15) << 4);
      found[block + half / 2 + i] = (first >> 4) | (second & 240);
    }
  return found;
}
