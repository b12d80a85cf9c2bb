/**
 * How many rows one run of a graph may have so that a row's result does not depend, bit for bit, on its neighbours.
 *
 * ONNX Runtime's float GEMM (MLAS) adds up each element of C[M,N] = A[M,K] B[K,N] in blocks along K. The block length
 * follows from K and from the columns that one thread takes, and how the columns are shared among threads follows from M.
 * So two row counts give equal bits where their blocks are equal. A single row takes another kernel altogether.
 */
import type { ModelConfig } from '../model/config.js';

/** A run has at least `min` rows (the caller fills up with rows whose results it drops) and at most `max`. */
export interface RowWindow {
  readonly min: number;
  readonly max: number;
}

/** Constants of MLAS (`mlas/lib/sgemm.cpp`, `mlasi.h`). */
const strideN = 128;
const strideK = 128;
const threadAlignN = 16;
const threadComplexity = 64 * 1024;
/** Rows beyond this bring no further speed. */
const mostRows = 512;

/** The window whose row counts all give equal blocks in every linear layer of a model; of several the widest, as a ratio. */
export function rowWindow(config: ModelConfig, threads: number): RowWindow {
  const layers = linearShapes(config);
  // Attention runs one GEMM per row and head; with fewer of them than threads it would be split as well.
  const fewest = Math.max(2, Math.ceil(threads / config.kvHeads));
  let best: RowWindow = { min: fewest, max: fewest };
  for (let min = fewest; min <= mostRows;) {
    const blocks = blocksOf(layers, min, threads);
    let max = min;
    while (max < mostRows && blocksOf(layers, max + 1, threads) === blocks) max++;
    if (max / min > best.max / best.min) best = { min, max };
    min = max + 1;
  }
  return best;
}

/** [columns N, depth K] of every linear layer. */
function linearShapes(config: ModelConfig): (readonly [number, number])[] {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  return [
    [heads * headDim, hiddenSize],
    [kvHeads * headDim, hiddenSize],
    [hiddenSize, heads * headDim],
    [intermediateSize, hiddenSize],
    [hiddenSize, intermediateSize],
    [vocabSize, hiddenSize],
  ];
}

/** Which block length each column of each layer is added up with. */
function blocksOf(layers: readonly (readonly [number, number])[], rows: number, threads: number): string {
  return layers.map(([n, k]) => blocksOfColumns(rows, n, k, threads)).join();
}

function blocksOfColumns(m: number, n: number, k: number, threads: number): string {
  // Where there are fewer columns than rows, the rows are shared out instead.
  if (n <= m) return `${blockLength(n, k)}`;
  const groups = Math.ceil(n / threadAlignN);
  const wanted = Math.floor((m * n * k) / threadComplexity) + 1;
  const used = Math.min(wanted, threads, groups);
  const each = Math.floor(groups / used);
  const larger = groups % used;
  // The first `larger` threads take one group more, and the last group may be cut short.
  const sizes = new Set([each, ...(larger > 0 ? [each + 1] : [])].map((count) => blockLength(Math.min(count * threadAlignN, n), k)));
  return sizes.size === 1 ? `${[...sizes][0]!}` : `${used}:${[...sizes].join('+')}`;
}

/** Length of the blocks along K; anything that covers all of K is one block. */
function blockLength(columns: number, k: number): number {
  let [blockN, blockK] = [strideN, strideK];
  if (columns >= k) {
    while (blockK / 2 >= k) [blockN, blockK] = [blockN * 2, blockK / 2];
  } else {
    while (blockN > 16 && blockN / 2 >= columns) [blockN, blockK] = [blockN / 2, blockK * 2];
  }
  return Math.min(blockK, k);
}
