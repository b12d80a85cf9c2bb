/**
 * Columns of a linear layer that the trainer computes separately, so that its sums have the same
 * blocks as the sampler's.
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

/** Conditions for scores equal to sampled log-probabilities, bit for bit. */
export interface ExactScoring {
  /**
   * Sizes of the parts in which a layer's columns are computed; one part where the whole layer can
   * be computed at once.
   */
  readonly parts: (shape: LinearShape) => readonly number[];
  /** Minimum number of rows of every matrix product; with fewer rows, the runtime would divide the parts again. */
  readonly leastRows: number;
}

/**
 * Conditions for a model. The sampler runs few rows, so the runtime divides columns among threads;
 * the trainer runs many rows, so the runtime divides rows. Where this gives sums different blocks,
 * the trainer computes the sampler's columns part by part. Without `threads`, the order of sums
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
 * True if the columns of a part would be summed in other blocks when threads divide them, which happens with
 * fewer rows than columns.
 */
function isFragile(columns: number, depth: number, threads: number): boolean {
  const shares = Array.from({ length: threads }, (_, i) =>
    Math.max(1, Math.floor(columns / (i + 1) / 16) * 16),
  );
  return shares.some((share) => blockLength(share, depth) !== blockLength(columns, depth));
}

/**
 * Sizes of the parts in which a layer's columns are computed so that sums have the same blocks for
 * any number of rows from 2 on, and any number of threads up to `threads`. Few layers have to be
 * divided: those with few columns and a large depth, such as adapters.
 */
export function steadyParts([columns, depth]: LinearShape, threads: number): readonly number[] {
  const most = Math.min(threads, Math.ceil(columns / threadAlignN));
  const isSteady = Array.from({ length: most }, (_, i) => dividedColumns(columns, i + 1))
    .flat()
    .every((share) => blockLength(share, depth) === blockLength(columns, depth));
  if (isSteady) return [columns];
  // Columns that are never divided.
  return Array.from({ length: Math.ceil(columns / threadAlignN) }, (_, i) =>
    Math.min(threadAlignN, columns - i * threadAlignN),
  );
}
