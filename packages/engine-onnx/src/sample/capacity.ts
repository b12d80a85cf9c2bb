/**
 * Chooses the cache capacity of each sequence. Short sequences should not read as much as long
 * sequences, but each execution of the graph should still have enough rows.
 */

/** Costs that decide between one execution with padding and two separate executions. */
export interface CapacityCosts {
  /** Bytes that one execution reads in addition to the cache. */
  readonly runBytes: number;
  /** Cache bytes per row and position. */
  readonly positionBytes: number;
}

/**
 * Returns the smallest capacity for `positions`. There are at most four capacities per doubling,
 * all multiples of 16. Attention over a padded cache adds exact zeros at the end of each sum, so
 * the capacity never changes a result.
 */
export function capacityFor(positions: number): number {
  const step = Math.max(16, 2 ** (Math.ceil(Math.log2(positions)) - 3));
  return Math.ceil(positions / step) * step;
}

/**
 * Returns a capacity for every sequence. Starting with the shortest, sequences join the next larger
 * class if reading the padding costs less than a separate execution.
 * @param positions number of positions that each sequence needs
 * @returns capacities in the same order
 */
export function planCapacities(positions: readonly number[], costs: CapacityCosts): number[] {
  const own = positions.map(capacityFor);
  const classes = [...new Set(own)].toSorted((a, b) => a - b);
  /** The larger class that each class has joined. */
  const joined = new Map<number, number>();
  /** Classes that will join the next larger class that is executed separately. */
  let waiting: number[] = [];
  let rows = 0;
  for (const [i, capacity] of classes.entries()) {
    waiting.push(capacity);
    rows += own.filter((other) => other === capacity).length;
    const next = classes[i + 1];
    if (next !== undefined && rows * (next - capacity) * costs.positionBytes < costs.runBytes)
      continue;
    for (const smaller of waiting) joined.set(smaller, capacity);
    waiting = [];
    rows = 0;
  }
  return own.map((capacity) => joined.get(capacity) ?? capacity);
}
