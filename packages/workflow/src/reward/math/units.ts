/**
 * Sizes of units, in multiples of the smallest unit of their dimension. The units have the names in
 * `unitNames`; each entry of the list is a dimension.
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
 * Returns the factor that converts an amount from unit `from` to unit `to`, as numerator and
 * denominator. Returns undefined if the units have different dimensions or are unknown.
 */
export function unitRatio(from: string, to: string): readonly [bigint, bigint] | undefined {
  const dimension = dimensions.find(
    (units) => Object.hasOwn(units, from) && Object.hasOwn(units, to),
  );
  return dimension && [BigInt(dimension[from]!), BigInt(dimension[to]!)];
}
