/**
 * Which cache capacity each sequence gets: short ones should not pay for long ones, nor every run
 * carry few rows.
 */

/** What decides between one run with wasted positions and two runs. */
export interface CapacityCosts {
  /** Bytes that a run reads apart from the cache. */
  readonly runBytes: number;
  /** Cache bytes per row and position. */
  readonly positionBytes: number;
}

/**
 * The smallest capacity that holds `positions`: four steps per doubling, multiples of 16. Attention
 * over a padded cache adds exact zeros at the end of the same chain, so a capacity never changes a
 * result.
 */
export function capacityFor(positions: number): number {
  const step = Math.max(16, 2 ** (Math.ceil(Math.log2(positions)) - 3));
  return Math.ceil(positions / step) * step;
}

/**
 * A capacity for every sequence. Beginning with the shortest, sequences join the next larger class
 * when reading the padding costs less than a run of their own would.
 * @param positions that each sequence needs @returns capacities in the same order
 */
export function planCapacities(positions: readonly number[], costs: CapacityCosts): number[] {
  const own = positions.map(capacityFor);
  const classes = [...new Set(own)].toSorted((a, b) => a - b);
  const joined = new Map<number, number>();
  let rows = 0;
  let from = 0;
  classes.forEach((capacity, i) => {
    rows += own.filter((c) => c === capacity).length;
    const next = classes[i + 1];
    if (next !== undefined && rows * (next - capacity) * costs.positionBytes < costs.runBytes)
      return;
    for (; from <= i; from++) joined.set(classes[from]!, capacity);
    rows = 0;
  });
  return own.map((capacity) => joined.get(capacity)!);
}
