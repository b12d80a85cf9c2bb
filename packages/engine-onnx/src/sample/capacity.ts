/**
 * Chooses the cache capacity of each sequence. A compromise: short sequences should not read as
 * many positions as long sequences, but each graph execution should have many rows.
 */

/** Costs that determine whether sequences of different lengths are padded to share an execution. */
export interface CapacityCosts {
  /** Bytes that one execution reads in addition to the cache, in any case. */
  readonly runBytes: number;
  /** Cache bytes per row and position. */
  readonly positionBytes: number;
  /** Maximum number of bytes for padding. */
  readonly spareBytes: number;
}

/**
 * Returns the smallest allowed capacity for `positions`. There are at most four capacities between
 * a power of two and the next, all multiples of 16. Attention over a padded cache adds exact zeros
 * at the end of each sum, so the capacity never changes a result.
 */
export function capacityFor(positions: number): number {
  const step = Math.max(16, 2 ** (Math.ceil(Math.log2(positions)) - 3));
  return Math.ceil(positions / step) * step;
}

/**
 * Returns a capacity for every sequence. Starting with the shortest sequences, uses the next larger
 * capacity if reading the padding costs less than a separate execution.
 * @param positions number of positions that each sequence needs
 * @returns capacities in the same order
 */
export function planCapacities(positions: readonly number[], costs: CapacityCosts): number[] {
  const own = positions.map(capacityFor);
  const classes = [...new Set(own)].toSorted((a, b) => a - b);
  /** Final capacity of each class, keyed by the class's own capacity. */
  const joined = new Map<number, number>();
  /** Classes that will get the capacity of the next larger class with a separate execution. */
  let waiting: number[] = [];
  let rows = 0;
  let spareBytes = costs.spareBytes;
  for (const [i, capacity] of classes.entries()) {
    waiting.push(capacity);
    rows += own.filter((other) => other === capacity).length;
    const next = classes[i + 1];
    const padding = next === undefined ? Infinity : rows * (next - capacity) * costs.positionBytes;
    if (padding < Math.min(costs.runBytes, spareBytes)) {
      spareBytes -= padding;
      continue;
    }
    for (const smaller of waiting) joined.set(smaller, capacity);
    waiting = [];
    rows = 0;
  }
  return own.map((capacity) => joined.get(capacity) ?? capacity);
}
