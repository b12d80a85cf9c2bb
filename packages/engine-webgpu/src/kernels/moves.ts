/** Kernels that copy numbers, or derive numbers from their indices. */
import { collapse, coordinates, stridesOf } from './loop.js';
import { elementCall, kernel, perElement, type Call, type Element } from './kernel.js';

interface Copy {
  readonly dims: readonly number[];
  /** Strides of each dimension in the source, and the index of the first element. */
  readonly from: readonly number[];
  readonly fromStart?: number;
  readonly to?: readonly number[];
  readonly toStart?: number;
}

/** Copies elements by strides: for transposes, slices, joins and repeats. */
export function copy(element: Element, { dims, from, to, fromStart = 0, toStart = 0 }: Copy): Call {
  const loop = collapse({ dims, strides: [from, to ?? stridesOf(dims)] });
  const made = kernel({ name: 'copy', reads: [element], writes: [element] }, () =>
    perElement(`${coordinates(3, 2)} b1[p(2u) + x1] = b0[p(1u) + x0];`),
  );
  const numbers = [fromStart, toStart, loop.dims.length, ...loop.dims, ...loop.strides.flat()];
  return elementCall(made, loop.count, numbers);
}

/** Pads a tensor with zeros. @param before zeros before the first index of each dimension */
export function pad(
  element: Element,
  shape: readonly number[],
  before: readonly number[],
  padded: readonly number[],
): Call {
  const rank = shape.length;
  const made = kernel({ name: 'Pad', reads: [element], writes: [element] }, () =>
    perElement(`
  let rank = p(1u);
  var rest = i;
  var place = 0u;
  var stride = 1u;
  var is_inside = true;
  for (var d = rank; d > 0u; d--) {
    let c = rest % p(1u + d);
    rest = rest / p(1u + d);
    // Wraps around below 0, to a number beyond the size.
    let own = c - p(1u + rank + d);
    let size = p(1u + 2u * rank + d);
    is_inside = is_inside && own < size;
    place += own * stride;
    stride = stride * size;
  }
  if (is_inside) { b1[i] = b0[place]; } else { b1[i] = ${element}(0); }`),
  );
  return elementCall(
    made,
    padded.reduce((size, dim) => size * dim, 1),
    [rank, ...padded, ...before, ...shape],
  );
}

/** Keeps a triangle of the last two dimensions, with zeros elsewhere. */
export function triangle(
  element: Element,
  count: number,
  [rows, columns]: readonly [number, number],
  { upper, diagonal }: { readonly upper: boolean; readonly diagonal: number },
): Call {
  const variant = upper ? 'upper' : 'lower';
  const made = kernel({ name: 'Trilu', variant, reads: [element], writes: [element] }, () =>
    perElement(`
  let offset = i32(i % p(2u)) - i32((i / p(2u)) % p(1u));
  if (offset ${upper ? '>=' : '<='} bitcast<i32>(p(3u))) { b1[i] = b0[i]; } else { b1[i] = ${element}(0); }`),
  );
  return elementCall(made, count, [rows, columns, diagonal >>> 0]);
}

/** The integers 0, 1, 2 ... below `count`. */
export function range(count: number): Call {
  const made = kernel({ name: 'Range', reads: [], writes: ['i32'] }, () =>
    perElement('b0[i] = i32(i);'),
  );
  return elementCall(made, count, []);
}
