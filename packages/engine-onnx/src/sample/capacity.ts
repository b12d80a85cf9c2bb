/**
 * Chooses the cache capacity of each sequence, so that short sequences do not pay for long ones and
 * runs still have enough rows.
 */

/** Costs that decide between one run with padding and two separate runs. */
export interface CapacityCosts {
  /** Bytes that a run reads in addition to the cache. */
  readonly runBytes: number;
  /** Cache bytes per row and position. */
  readonly positionBytes: number;
}

/**
 * The smallest capacity for `positions`: there are at most four per doubling, all multiples of 16.
 * Attention over a padded cache adds exact zeros at the end of each sum, so the capacity never
 * changes a result.
 */
export function capacityFor(positions: number): number {
  const step = Math.max(16, 2 ** (Math.ceil(Math.log2(positions)) - 3));
  return Math.ceil(positions / step) * step;
}

/**
 * A capacity for every sequence. Starting with the shortest, sequences join the next larger class
 * if reading the padding costs less than a separate run.
 * @param positions that each sequence needs
 * @returns capacities in the same order
 */
export function planCapacities(positions: readonly number[], costs: CapacityCosts): number[] {
  const own = positions.map(capacityFor);
  const classes = [...new Set(own)].toSorted((a, b) => a - b);
  /** The class that each class joined. */
  const joined = new Map<number, number>();
  /** Classes that will join the next class that has a separate run. */
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
