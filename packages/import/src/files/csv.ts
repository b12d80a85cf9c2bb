/** Reads rows of CSV as in RFC 4180: quoted cells may contain separators, quotes and line ends. */
import type { FindEnd } from './read-pieces.js';

const [quote, lineFeed] = [0x22, 10];

/**
 * Creates a function that finds the line ends outside quotes. A doubled quote is treated as closing
 * and reopening.
 */
export function rowEnd(): FindEnd {
  let inQuotes = false;
  return (chunk, from) => {
    for (let i = from; i < chunk.length; i++) {
      if (inQuotes) i = chunk.indexOf(quote, i);
      if (i < 0) return -1;
      if (chunk[i] === quote) inQuotes = !inQuotes;
      else if (chunk[i] === lineFeed) return i;
    }
    return -1;
  };
}

const separators = [',', ';', '\t'] as const;

/**
 * Returns a function that reads a row as an object of strings, without empty cells.
 * @param header first row; the separator is the one that splits the header into the most columns
 * @throws Error if the header is not CSV; the returned function throws if a row does not fit the
 * header
 */
export function csvReader(header: string): (row: string) => Readonly<Record<string, string>> {
  const split = (separator: string) => ({
    separator,
    names: cellsOf(header, separator).map((name) => name.trim()),
  });
  const fitting = separators.flatMap((separator) => {
    try {
      return [split(separator)];
    } catch {
      // With the wrong separator, there is more after the quotes of a cell.
      return [];
    }
  });
  const [best] = fitting.toSorted((a, b) => b.names.length - a.names.length);
  const { separator, names } = best ?? split(',');
  if (new Set(names).size < names.length) throw new Error('two columns have one name');
  return (row) => {
    const cells = cellsOf(row, separator);
    if (cells.length !== names.length)
      throw new Error(`it has ${cells.length} cells, and the header ${names.length}`);
    return Object.fromEntries(
      names.flatMap((name, i) => (cells[i] ? [[name, cells[i]] as const] : [])),
    );
  };
}

/**
 * Splits a row into its cells.
 * @throws Error for a quote in the middle of a cell, or a quote that is not closed
 */
function cellsOf(row: string, separator: string): readonly string[] {
  const cells: string[] = [];
  for (let at = 0; at <= row.length;) {
    const isQuoted = row[at] === '"';
    const end = isQuoted ? endOfQuotes(row, at + 1) : row.indexOf(separator, at);
    const stop = end < 0 ? row.length : end;
    const text = isQuoted ? row.slice(at + 1, stop).replaceAll('""', '"') : row.slice(at, stop);
    const next = isQuoted ? stop + 1 : stop;
    if (next < row.length && row[next] !== separator)
      throw new Error(`there is more after the quotes of cell ${cells.length + 1}`);
    cells.push(text);
    at = next + 1;
  }
  return cells;
}

function endOfQuotes(row: string, from: number): number {
  for (let at = row.indexOf('"', from); at >= 0; at = row.indexOf('"', at + 2))
    if (row[at + 1] !== '"') return at;
  throw new Error('quotes are not closed');
}
