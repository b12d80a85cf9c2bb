/**
 * Kernels that read or write elements by index. Each thread computes one element of the result, or
 * one row in {@link topK}, so the order of the terms of a sum is fixed.
 */
import { floatBits, perElement, type Call, type Element } from './kernel.js';

interface Gather {
  readonly outer: number;
  readonly size: number;
  readonly inner: number;
  /** Number of indices, which is the size of the result along the gathered axis. */
  readonly count: number;
  /** True if each slice along `outer` has its own `count` indices. @default false */
  readonly isOwn?: boolean;
  /** Index of the first element in the source buffer. @default 0 */
  readonly start?: number;
  /** Factor that multiplies float32 elements. @default 1 */
  readonly scale?: number;
}

/**
 * Gathers slices along one axis by index. [outer, size, inner] by [count] or [outer, count] ->
 * [outer, count, inner]
 */
export function gather(
  element: Element,
  { outer, size, inner, count, isOwn = false, start = 0, scale = 1 }: Gather,
): Call {
  const spec = { name: 'Gather', types: `${element} i32 -> ${element}` };
  const body = `
  let index = u32(b1[(i / p(1u)) % p(4u)]);
  let at = p(5u) + (i / (p(1u) * p(2u)) * p(3u) + index) * p(1u) + i % p(1u);
  b2[i] = ${element === 'f32' ? 'pf(6u) * ' : ''}b0[at];`;
  const indices = isOwn ? outer * count : count;
  const uniforms = [inner, count, size, indices, start, floatBits(scale)];
  return perElement(spec, [outer * count * inner, ...uniforms], body);
}

/**
 * In each row, writes values to the elements at the given indices, or adds them to these elements.
 * [rows, width], indices and values [rows, count] -> [rows, width]
 */
export function scatterElements(
  element: Element,
  kind: 'set' | 'add',
  { rows, width, count }: Readonly<Record<'rows' | 'width' | 'count', number>>,
): Call {
  const types = `${element} i32 ${element} -> ${element}`;
  const body = `
  let first = (i / p(1u)) * p(2u);
  let column = i32(i % p(1u));
  var value = b0[i];
  for (var k = 0u; k < p(2u); k++) {
    if (b1[first + k] == column) {
      let put = b2[first + k];
      value = select(put, value + put, p(3u) == 1u);
    }
  }
  b3[i] = value;`;
  const spec = { name: 'ScatterElements', types, cost: 16 + 4 * count };
  return perElement(spec, [rows * width, width, count, Number(kind === 'add')], body);
}

/**
 * Finds the `count` largest numbers of each row, in descending order, and their indices. Equal
 * numbers are ordered by index.
 */
export function topK(rows: number, width: number, count: number): Call {
  const body = `
  let at0 = i * p(1u);
  var last = 3.4028234e38;
  var last_at = -1;
  for (var k = 0u; k < p(2u); k++) {
    var best = -3.4028234e38;
    var best_at = -1;
    for (var c = 0; c < i32(p(1u)); c++) {
      let x = b0[at0 + u32(c)];
      let is_after = x < last || (x == last && c > last_at);
      if (is_after && (x > best || best_at < 0)) { best = x; best_at = c; }
    }
    b1[i * p(2u) + k] = best;
    b2[i * p(2u) + k] = max(best_at, 0);
    last = best;
    last_at = best_at;
  }`;
  const spec = { name: 'TopK', types: 'f32 -> f32 i32', cost: 4 * width * count };
  return perElement(spec, [rows, width, count], body);
}
