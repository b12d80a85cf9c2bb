/** How Python reads numbers, for functions that must give Trinity-RFT's figures. */

const decimal =
  /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const special: ReadonlyMap<string, number> = new Map([
  ['inf', Infinity],
  ['infinity', Infinity],
  ['nan', NaN],
]);

/** `float(text)`; undefined where Python raises ValueError. */
export function pythonFloat(text: string): number | undefined {
  const trimmed = text.trim();
  if (decimal.test(trimmed)) return Number(trimmed.replaceAll('_', ''));
  const value = special.get(trimmed.toLowerCase().replace(/^[+-]/, ''));
  return value === undefined || !trimmed.startsWith('-') ? value : -value;
}

/** `math.isclose(a, b, rel_tol=tolerance)`. */
export function isClose(a: number, b: number, tolerance: number): boolean {
  if (a === b) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}

/**
 * A float as a whole number in digits, as `str(int(round(x)))` writes it; undefined when it is more
 * than 1e-7 away from one.
 */
export function wholeDigits(value: number): string | undefined {
  if (!Number.isFinite(value) || Math.abs(value - Math.round(value)) > 1e-7) return undefined;
  return BigInt(Math.round(value)).toString();
}

/** `str.strip(characters)` on the right side. */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
