/**
 * For each dimension, the sizes of its units relative to the smallest unit, keyed by the names of
 * `unitNames`.
 */
const dimensions: readonly Readonly<Record<string, number>>[] = [
  { mm: 1, cm: 10, m: 1_000, km: 1_000_000 },
  { in: 1, ft: 12, yd: 36, mi: 63_360 },
  { mg: 1, g: 1_000, kg: 1_000_000, ton: 1_000_000_000 },
  { oz: 1, lb: 16 },
  { ml: 1, L: 1_000 },
  { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, day: 86_400_000, week: 604_800_000 },
  { month: 1, year: 12 },
  { cent: 1, dollar: 100 },
];

/**
 * Returns the numerator and denominator by which an amount in `from` is multiplied to convert it to
 * `to`. Returns undefined if the units have different dimensions.
 */
export function unitRatio(from: string, to: string): readonly [bigint, bigint] | undefined {
  const dimension = dimensions.find(
    (units) => Object.hasOwn(units, from) && Object.hasOwn(units, to),
  );
  return dimension && [BigInt(dimension[from]!), BigInt(dimension[to]!)];
}
