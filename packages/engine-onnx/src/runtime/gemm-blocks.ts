/**
 * Summation order of ONNX Runtime's float GEMM (MLAS): each element of C[M,N] = A[M,K] B[K,N] is
 * summed in blocks along K. The block length depends on K and on the number of columns of a thread,
 * which depends on M. So two row counts give equal bits if their blocks are equal. A single row
 * uses a different kernel.
 */

/** Constants of MLAS (`mlas/lib/sgemm.cpp`, `mlasi.h`). */
const strideN = 128;
const strideK = 128;
export const threadAlignN = 16;
const threadComplexity = 64 * 1024;

/** [columns N, depth K] of a linear layer. */
export type LinearShape = readonly [columns: number, depth: number];

/** Columns of each thread for M rows; one number if the threads divide the rows instead. */
export function threadColumns(m: number, [n, k]: LinearShape, threads: number): readonly number[] {
  if (n <= m) return [n];
  const groups = Math.ceil(n / threadAlignN);
  const wanted = Math.floor((m * n * k) / threadComplexity) + 1;
  return dividedColumns(n, Math.min(wanted, threads, groups));
}

/** Columns of each of `used` threads, at most one thread for every {@link threadAlignN} columns. */
export function dividedColumns(n: number, used: number): readonly number[] {
  const groups = Math.ceil(n / threadAlignN);
  const [each, larger] = [Math.floor(groups / used), groups % used];
  // The first `larger` threads take one group more; the last group may be shorter.
  const ends = Array.from({ length: used }, (_, i) =>
    Math.min(n, ((i + 1) * each + Math.min(i + 1, larger)) * threadAlignN),
  );
  return ends.map((end, i) => end - (ends[i - 1] ?? 0));
}

/** Length of the blocks along K, at most K. */
export function blockLength(columns: number, k: number): number {
  let [blockN, blockK] = [strideN, strideK];
  if (columns >= k) {
    while (blockK / 2 >= k) [blockN, blockK] = [blockN * 2, blockK / 2];
  } else {
    while (blockN > 16 && blockN / 2 >= columns) [blockN, blockK] = [blockN / 2, blockK * 2];
  }
  return Math.min(blockK, k);
}
