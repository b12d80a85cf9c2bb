/**
 * Limits the number of rows in one execution of a graph, so that a row's result does not depend on
 * the other rows in any bit.
 */
import type { ModelConfig } from './config.js';
import { blockLength, threadColumns, type LinearShape } from '../runtime/gemm-blocks.js';
import { linearShapes } from './parameters.js';

/**
 * Range of the number of rows in one execution. To reach `min`, the caller adds padding rows and
 * discards their results.
 */
export interface RowWindow {
  readonly min: number;
  readonly max: number;
}

/** Maximum number of rows. More rows do not increase the throughput. */
const maxRows = 512;

/**
 * Returns a range of row counts for which the runtime sums in equal blocks in every linear layer of
 * a model. If there are several ranges, returns the one with the largest ratio of `max` to `min`.
 */
export function rowWindow(config: ModelConfig, threads: number): RowWindow {
  const layers = linearShapes(config);
  // Attention computes one GEMM per row and head. If there were fewer GEMMs than threads, the
  // threads would divide each GEMM as well.
  const fewest = Math.max(2, Math.ceil(threads / config.kvHeads));
  let best: RowWindow = { min: fewest, max: fewest };
  for (let min = fewest; min <= maxRows;) {
    const blocks = blocksOf(layers, min, threads);
    let max = min;
    while (max < maxRows && blocksOf(layers, max + 1, threads) === blocks) max++;
    if (max / min > best.max / best.min) best = { min, max };
    min = max + 1;
  }
  return best;
}

/**
 * Returns a string that is equal for two row counts if the runtime then sums each layer in the same
 * blocks.
 */
function blocksOf(layers: readonly LinearShape[], rows: number, threads: number): string {
  return layers
    .map((shape) => {
      const columns = threadColumns(rows, shape, threads);
      const lengths = columns.map((count) => blockLength(count, shape[1]));
      // If all threads have the same block length, the distribution of columns to threads does not
      // matter.
      return lengths.every((length) => length === lengths[0])
        ? `${lengths[0]}`
        : `${columns.join('+')}:${lengths.join('+')}`;
    })
    .join();
}
