/**
 * Divides the columns of linear layers into parts that the trainer computes separately. The trainer
 * then sums in the same blocks as the sampler, so that both round equally.
 */
import {
  blockLength,
  dividedColumns,
  threadAlignN,
  threadColumns,
  type LinearShape,
} from '../runtime/gemm-blocks.js';
import type { GraphRuntime } from '../runtime/graph-runtime.js';
import { rowWindow } from './row-window.js';
import type { ModelConfig } from './config.js';
import { linearShapes } from './parameters.js';

/** Conditions under which scores equal the sampled log-probabilities bit for bit. */
export interface ExactScoring {
  /**
   * Returns the sizes of the parts in which a layer's columns are computed: a single part if the
   * whole layer can be computed at once.
   */
  readonly parts: (shape: LinearShape) => readonly number[];
  /**
   * Minimum number of rows of every matrix product. With fewer rows, the runtime would divide the
   * parts again.
   */
  readonly leastRows: number;
}

/**
 * Returns the conditions for a model. The sampler's matrix products have few rows, so the runtime
 * divides their columns among threads. The trainer's products have many rows, so the runtime
 * divides their rows. If this leads to different blocks of sums, the trainer computes the column
 * ranges of the sampler's threads one by one. On a runtime without `threads`, the order of sums
 * never varies.
 */
export function exactScoring(config: ModelConfig, threads: GraphRuntime['threads']): ExactScoring {
  if (!threads) return { parts: ([columns]) => [columns], leastRows: 2 };
  const { train, sample } = threads;
  const rows = rowWindow(config, sample).min;
  const parts = (shape: LinearShape): readonly number[] => {
    const columns = threadColumns(rows, shape, sample);
    return columns.every(
      (count) => blockLength(count, shape[1]) === blockLength(shape[0], shape[1]),
    )
      ? [shape[0]]
      : columns;
  };
  const fragile = linearShapes(config).flatMap((shape) =>
    parts(shape).filter((columns) => isFragile(columns, shape[1], train)),
  );
  return { parts, leastRows: Math.max(2, ...fragile) };
}

/**
 * Returns true if the runtime would sum in different blocks when it divides the columns of a part
 * among threads. It does so if a product has fewer rows than columns.
 */
function isFragile(columns: number, depth: number, threads: number): boolean {
  const shares = Array.from({ length: threads }, (_, i) =>
    Math.max(1, Math.floor(columns / (i + 1) / 16) * 16),
  );
  return shares.some((share) => blockLength(share, depth) !== blockLength(columns, depth));
}

/**
 * Returns the sizes of the parts in which a layer's columns are computed. With these parts, sums
 * have the same blocks for any number of rows from 2 on and any number of threads up to `threads`.
 * Only layers with few columns and a large depth, such as adapters, must be divided.
 */
export function steadyParts([columns, depth]: LinearShape, threads: number): readonly number[] {
  const most = Math.min(threads, Math.ceil(columns / threadAlignN));
  const isSteady = Array.from({ length: most }, (_, i) => dividedColumns(columns, i + 1))
    .flat()
    .every((share) => blockLength(share, depth) === blockLength(columns, depth));
  if (isSteady) return [columns];
  // Threads never divide parts of this size.
  return Array.from({ length: Math.ceil(columns / threadAlignN) }, (_, i) =>
    Math.min(threadAlignN, columns - i * threadAlignN),
  );
}
