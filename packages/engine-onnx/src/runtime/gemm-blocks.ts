/**
 * Summation order of ONNX Runtime's float GEMM (MLAS). Each element of C[M,N] = A[M,K] B[K,N] is
 * summed in blocks along K. The block length depends on K and on the number of columns that a
 * thread computes, which depends on M. Two row counts therefore give equal bits if they lead to the
 * same blocks. A single row uses a different kernel.
 */

/** Constants of MLAS (`mlas/lib/sgemm.cpp`, `mlasi.h`). */
const strideN = 128;
const strideK = 128;
export const threadAlignN = 16;
const threadComplexity = 64 * 1024;

/** [columns N, depth K] of a linear layer. */
export type LinearShape = readonly [columns: number, depth: number];

/**
 * Returns the number of columns that each thread computes for M rows. If the threads divide the
 * rows instead, returns only N.
 */
export function threadColumns(m: number, [n, k]: LinearShape, threads: number): readonly number[] {
  if (n <= m) return [n];
  const groups = Math.ceil(n / threadAlignN);
  const wanted = Math.floor((m * n * k) / threadComplexity) + 1;
  return dividedColumns(n, Math.min(wanted, threads, groups));
}

/**
 * Returns the number of columns of each of `used` threads. `used` must be at most one thread for
 * every {@link threadAlignN} columns.
 */
export function dividedColumns(n: number, used: number): readonly number[] {
  const groups = Math.ceil(n / threadAlignN);
  const [each, larger] = [Math.floor(groups / used), groups % used];
  // The first `larger` threads take one more group; the last group may be shorter.
  const ends = Array.from({ length: used }, (_, i) =>
    Math.min(n, ((i + 1) * each + Math.min(i + 1, larger)) * threadAlignN),
  );
  return ends.map((end, i) => end - (ends[i - 1] ?? 0));
}

/** Returns the length of the blocks along K, at most K. */
export function blockLength(columns: number, k: number): number {
  let [blockN, blockK] = [strideN, strideK];
  if (columns >= k) {
    while (blockK / 2 >= k) [blockN, blockK] = [blockN * 2, blockK / 2];
  } else {
    while (blockN > 16 && blockN / 2 >= columns) [blockN, blockK] = [blockN / 2, blockK * 2];
  }
  return Math.min(blockK, k);
}
