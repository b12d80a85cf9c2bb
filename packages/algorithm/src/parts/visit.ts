/**
 * Parts of a batch, visited by calls instead of in a loop: V8 compiles a long loop while it is in
 * it, and keeps its sums on the heap.
 */

/**
 * Numbers of a block: few enough that what is kept of them stays in the nearest caches (`pnpm bench
 * algorithm`).
 */
export const blockSize = 512;

/** Visits [0, size) in blocks [from, to). */
export function eachBlock(size: number, visit: (from: number, to: number) => void): void {
  const starts = Array.from(
    { length: Math.ceil(size / blockSize) },
    (_, block) => block * blockSize,
  );
  starts.forEach((from) => visit(from, Math.min(from + blockSize, size)));
}

/** Visits the tokens [start, end) of each row. */
export function eachRow(
  offsets: Int32Array,
  visit: (start: number, end: number, row: number) => void,
): void {
  offsets.subarray(0, -1).forEach((start, row) => visit(start, offsets[row + 1]!, row));
}
