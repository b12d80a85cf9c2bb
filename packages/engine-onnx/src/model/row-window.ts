/**
 * How many rows one run of a graph may have so that a row's result does not depend, bit for bit, on
 * its neighbours.
 */
import type { ModelConfig } from './config.js';
import { blockLength, threadColumns, type LinearShape } from '../runtime/gemm.js';
import { linearShapes } from './parameters.js';

/**
 * A run has at least `min` rows (the caller fills up with rows whose results it drops) and at most
 * `max`.
 */
export interface RowWindow {
  readonly min: number;
  readonly max: number;
}

/** Rows beyond this bring no further speed. */
const mostRows = 512;

/**
 * The window whose row counts all give equal blocks in every linear layer of a model; of several
 * the widest, as a ratio.
 */
export function rowWindow(config: ModelConfig, threads: number): RowWindow {
  const layers = linearShapes(config);
  // Attention runs one GEMM per row and head; with fewer of them than threads it would be split as
  // well.
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

/** Which block length each column of each layer is added up with. */
function blocksOf(layers: readonly LinearShape[], rows: number, threads: number): string {
  return layers
    .map((shape) => {
      const columns = threadColumns(rows, shape, threads);
      const lengths = columns.map((count) => blockLength(count, shape[1]));
      // Where all columns share a length, it does not matter which thread takes which.
      return lengths.every((length) => length === lengths[0])
        ? `${lengths[0]}`
        : `${columns.join('+')}:${lengths.join('+')}`;
    })
    .join();
}
