/** How many rows of a train batch come from the expert buffer. */

/**
 * ceil(ratio * batchSize), without counting a row more for the rounding of the product: 0.07 * 100
 * is 7.
 */
export const expertCount = (expertDataRatio: number, batchSize: number): number =>
  Math.ceil(expertDataRatio * batchSize - 1e-9);
