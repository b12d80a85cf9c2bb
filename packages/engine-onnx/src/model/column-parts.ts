/**
 * Which columns of a linear layer the trainer computes apart, so that its sums have the blocks of
 * the sampler's.
 */
import { blockLength, threadColumns, type LinearShape } from '../runtime/gemm.js';
import { rowWindow } from './row-window.js';
import type { ModelConfig } from './config.js';
import { linearShapes } from './parameters.js';

/** What it takes for scores to have the bits of sampling. */
export interface Agreement {
  /**
   * Sizes of the parts that a layer's columns are computed in; one part where the whole layer will
   * do.
   */
  readonly parts: (shape: LinearShape) => readonly number[];
  /**
   * Rows that every matrix product needs at least; with fewer the runtime would cut the parts up
   * again.
   */
  readonly leastRows: number;
}

/**
 * The sampler runs few rows, whose columns the runtime shares among threads; the trainer runs many,
 * which it shares by rows. Where that makes the blocks of the sums differ, the trainer asks for the
 * sampler's columns one part at a time.
 * @param threads inside one operator of the trainer @param samplerThreads inside one operator of
 * the sampler
 */
export function samplerAgreement(
  config: ModelConfig,
  threads: number,
  samplerThreads = threads,
): Agreement {
  const rows = rowWindow(config, samplerThreads).min;
  const parts = (shape: LinearShape): readonly number[] => {
    const columns = threadColumns(rows, shape, samplerThreads);
    return columns.every(
      (count) => blockLength(count, shape[1]) === blockLength(shape[0], shape[1]),
    )
      ? [shape[0]]
      : columns;
  };
  const fragile = linearShapes(config).flatMap((shape) =>
    parts(shape).filter((columns) => isFragile(columns, shape[1], threads)),
  );
  return { parts, leastRows: Math.max(2, ...fragile) };
}

/**
 * With fewer rows than columns, threads would share the columns of the part: does a share have
 * other blocks?
 */
function isFragile(columns: number, depth: number, threads: number): boolean {
  const shares = Array.from({ length: threads }, (_, i) =>
    Math.max(1, Math.floor(columns / (i + 1) / 16) * 16),
  );
  return shares.some((share) => blockLength(share, depth) !== blockLength(columns, depth));
}
