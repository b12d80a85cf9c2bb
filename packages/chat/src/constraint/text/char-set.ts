/**
 * Set of Unicode characters, as sorted ranges `[from, to, from, to ...]` without surrogates. Both
 * ends of a range belong to the set.
 */
export type CharSet = readonly number[];

/** Every character that UTF-8 can encode. */
export const allChars: CharSet = [0, 0xd7ff, 0xe000, 0x10ffff];

export type Range = readonly [from: number, to: number];

/** Returns the union of ranges, which may be in any order. */
export function charSet(ranges: readonly Range[]): CharSet {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return intersect(merged.flat(), allChars);
}

export const rangesOf = (set: readonly number[]): readonly Range[] =>
  Array.from({ length: set.length / 2 }, (_, i): Range => [set[2 * i]!, set[2 * i + 1]!]);

export function complement(set: CharSet): CharSet {
  const edges = [-1, ...set, 0x110000];
  const gaps = rangesOf(edges).map(([before, after]): Range => [before + 1, after - 1]);
  return charSet(gaps.filter(([from, to]) => from <= to));
}

export function intersect(a: CharSet, b: CharSet): CharSet {
  const common: number[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const from = Math.max(a[i]!, b[j]!);
    const to = Math.min(a[i + 1]!, b[j + 1]!);
    if (from <= to) common.push(from, to);
    if (a[i + 1]! < b[j + 1]!) i += 2;
    else j += 2;
  }
  return common;
}

export function has(set: CharSet, char: number): boolean {
  let low = 0;
  let high = set.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[2 * middle + 1]! < char) low = middle + 1;
    else high = middle;
  }
  return low < set.length / 2 && set[2 * low]! <= char;
}

/**
 * Returns the set of the characters for which `test` returns true. Calls `test` for every Unicode
 * character.
 */
export function charsWhere(test: (char: string) => boolean): CharSet {
  const found: Range[] = [];
  for (const [from, to] of rangesOf(allChars)) {
    for (let char = from, start = -1; char <= to + 1; char++) {
      const holds = char <= to && test(String.fromCodePoint(char));
      if (holds && start < 0) start = char;
      if (!holds && start >= 0) {
        found.push([start, char - 1]);
        start = -1;
      }
    }
  }
  return charSet(found);
}
