/**
 * Dimensions of values. A dimension is a number, or a symbol whose size is only known when the
 * graph is executed.
 */

/** A count, a symbol (`"T"`), or a product of both (`"2*T"`). */
export type Dim = number | string;
export type Shape = readonly Dim[];

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/**
 * Returns the product in a canonical form: the number first, then the symbols in the given order.
 */
export function product(dims: Shape): Dim {
  let count = 1;
  const symbols: string[] = [];
  for (const dim of dims) {
    if (typeof dim === 'number') count *= dim;
    else symbols.push(dim);
  }
  if (symbols.length === 0) return count;
  return [...(count === 1 ? [] : [count]), ...symbols].join('*');
}

/**
 * Returns the shape of an elementwise result. Trailing dimensions are aligned, and dimensions of
 * size 1 are broadcast.
 */
export function broadcastShape(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    return x === 1 ? y : x;
  });
}
