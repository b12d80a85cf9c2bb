/** Kernels that move elements without changing them. */
import { collapse, coordinates, stridesOf } from './loop.js';
import { perElement, type Call, type Element } from './kernel.js';

interface Copy {
  readonly dims: readonly number[];
  /**
   * Stride of each dimension in the source. `fromStart` is the index of the first source element.
   */
  readonly from: readonly number[];
  readonly fromStart?: number;
  readonly to?: readonly number[];
  readonly toStart?: number;
}

/**
 * Copies elements by strides. Implements transposes, slices, concatenation, padding and repeats.
 */
export function copy(element: Element, { dims, from, to, fromStart = 0, toStart = 0 }: Copy): Call {
  const loop = collapse({ dims, strides: [from, to ?? stridesOf(dims)] });
  const body = `${coordinates(3, 2)} b1[p(2u) + x1] = b0[p(1u) + x0];`;
  const sizes = [fromStart, toStart, loop.dims.length, ...loop.dims, ...loop.strides.flat()];
  return perElement(
    { name: 'copy', types: `${element} -> ${element}` },
    [loop.count, ...sizes],
    body,
  );
}

/**
 * Keeps the upper or the lower triangle of each matrix in the last two dimensions, and sets the
 * other elements to zero.
 */
export function triangle(
  element: Element,
  count: number,
  [rows, columns]: readonly [number, number],
  { upper, diagonal }: { readonly upper: boolean; readonly diagonal: number },
): Call {
  const spec = { name: 'Trilu', types: `${element} -> ${element}` };
  const body = `
  let above = i32(i % p(2u)) - i32((i / p(2u)) % p(1u)) - bitcast<i32>(p(3u));
  let is_kept = select(above <= 0, above >= 0, p(4u) == 1u);
  b1[i] = select(${element}(0), b0[i], is_kept);`;
  return perElement(spec, [count, rows, columns, diagonal >>> 0, Number(upper)], body);
}
