/** Finds values of some metrics in lines of JSON, without parsing whole lines. */
import type { Column } from './columns.js';

/** A metric to search for, and the column that its values are added to. */
export interface Wanted {
  readonly needle: Buffer;
  readonly values: Column;
}

/** Bytes to search for in a line: a metric's name with its quotes and colon. */
export const needleOf = (name: string): Buffer => Buffer.from(`${JSON.stringify(name)}:`);

const [comma, brace, backslash] = [0x2c, 0x7d, 0x5c];

/**
 * Adds the value in the line `[begin, end)` to its column. Adds NaN if the line has no value, and
 * Infinity for `null`, which means that the value was not finite.
 */
export function addValue(
  { needle, values }: Wanted,
  block: Buffer,
  begin: number,
  end: number,
): void {
  const line = block.subarray(begin, end);
  let found = line.indexOf(needle);
  // Skips matches inside another name that contains a quotation mark.
  while (found > 0 && line[found - 1] === backslash) found = line.indexOf(needle, found + 1);
  values.push(found === -1 ? Number.NaN : numberAt(line, found + needle.length));
}

function numberAt(line: Buffer, begin: number): number {
  let end = begin;
  while (end < line.length && line[end] !== comma && line[end] !== brace) end++;
  const text = line.toString('latin1', begin, end).trim();
  if (text === 'null') return Infinity;
  return text === '' ? Number.NaN : Number(text);
}
