/** Parses and formats numbers as Python does, to reproduce scores of Trinity-RFT. */

const decimal =
  /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const special: ReadonlyMap<string, number> = new Map([
  ['inf', Infinity],
  ['infinity', Infinity],
  ['nan', NaN],
]);

/** Implements Python's `float(text)`. Returns undefined if Python would raise ValueError. */
export function pythonFloat(text: string): number | undefined {
  const trimmed = text.trim();
  if (decimal.test(trimmed)) return Number(trimmed.replaceAll('_', ''));
  const value = special.get(trimmed.toLowerCase().replace(/^[+-]/, ''));
  return value === undefined || !trimmed.startsWith('-') ? value : -value;
}

/** Implements Python's `math.isclose(a, b, rel_tol=tolerance)`. */
export function isClose(a: number, b: number, tolerance: number): boolean {
  if (a === b) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}

/**
 * Returns the integer next to a float, as `str(int(round(x)))` writes it. Returns undefined for
 * floats that differ from an integer by more than 1e-7.
 */
export function wholeDigits(value: number): string | undefined {
  if (!Number.isFinite(value) || Math.abs(value - Math.round(value)) > 1e-7) return undefined;
  return BigInt(Math.round(value)).toString();
}

/** Implements Python's `str.rstrip(character)`. */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
