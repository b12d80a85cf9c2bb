/** Kernels that read by index. Each thread owns one element of the result, so sums have a fixed order. */
import { elementCall, kernel, perElement, type Call, type Element } from './kernel.js';

/** Slices at the indices of one axis. [outer, size, inner] by indices [count] -> [outer, count, inner] */
export function gather(
  element: Element,
  { outer, size, inner, count }: Readonly<Record<'outer' | 'size' | 'inner' | 'count', number>>,
): Call {
  const made = kernel({ name: 'Gather', reads: [element, 'i32'], writes: [element] }, () =>
    perElement(`
  let index = u32(b1[(i / p(1u)) % p(2u)]);
  b2[i] = b0[(i / (p(1u) * p(2u)) * p(3u) + index) * p(1u) + i % p(1u)];`),
  );
  return elementCall(made, outer * count * inner, [inner, count, size]);
}

/** One number per index of each row. [rows, width] by [rows, count] -> [rows, count] */
export function gatherElements(element: Element, rows: number, width: number, count: number): Call {
  const made = kernel({ name: 'GatherElements', reads: [element, 'i32'], writes: [element] }, () =>
    perElement('b2[i] = b0[(i / p(1u)) * p(2u) + u32(b1[i])];'),
  );
  return elementCall(made, rows * count, [count, width]);
}

/** Puts values at the indices of each row, or adds them. [rows, width], [rows, count] twice -> [rows, width] */
export function scatterElements(
  element: Element,
  kind: 'set' | 'add',
  { rows, width, count }: Readonly<Record<'rows' | 'width' | 'count', number>>,
): Call {
  const reads = [element, 'i32', element] as const;
  const made = kernel({ name: 'ScatterElements', variant: kind, reads, writes: [element] }, () =>
    perElement(`
  let first = (i / p(1u)) * p(2u);
  let column = i32(i % p(1u));
  var value = b0[i];
  for (var k = 0u; k < p(2u); k++) {
    if (b1[first + k] == column) { value = ${kind === 'add' ? 'value + ' : ''}b2[first + k]; }
  }
  b3[i] = value;`),
  );
  return elementCall(made, rows * width, [width, count], 16 + 4 * count);
}

/** The `count` largest numbers of each row in descending order; of equal numbers, the earlier one first. */
export function topK(rows: number, width: number, count: number): Call {
  const made = kernel({ name: 'TopK', reads: ['f32'], writes: ['f32', 'i32'] }, () =>
    perElement(`
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
  }`),
  );
  return elementCall(made, rows, [width, count], 4 * width * count);
}
