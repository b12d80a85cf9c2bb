/** Reads rows of CSV as in RFC 4180: quoted cells may contain separators, quotes and line ends. */
import type { FindEnd } from './read-pieces.js';

const [quote, lineFeed] = [0x22, 10];

const separators = [',', ';', '\t'] as const;
const separatorCodes = separators.map((each) => each.charCodeAt(0));

/**
 * Creates a function that finds line ends outside of quoted cells. A quote opens a quoted cell only
 * at the start of the cell. A doubled quote counts as a closing quote and an opening quote.
 * @param separator returns the separator of the file, or undefined until the header has been read
 */
export function rowEnd(separator: () => string | undefined): FindEnd {
  let inQuotes = false;
  /** True if a quote character at the current position would open or reopen a quoted cell. */
  let opens = true;
  return (chunk, from) => {
    const known = separator();
    const code = known?.charCodeAt(0);
    for (let i = from; i < chunk.length; i++) {
      if (inQuotes) i = chunk.indexOf(quote, i);
      if (i < 0) return -1;
      const byte = chunk[i]!;
      const isEnd = byte === lineFeed;
      if (byte === quote && opens) inQuotes = !inQuotes;
      else opens = isEnd || (code === undefined ? separatorCodes.includes(byte) : byte === code);
      if (isEnd) return i;
    }
    return -1;
  };
}

export interface CsvReader {
  readonly separator: string;
  /**
   * Reads a row as an object of strings, keyed by column name, with a boolean for `true` and `false`
   * in the column `label`, which TRL's KTO reads. Empty cells are left out.
   * @throws Error if the row does not fit the header
   */
  readonly read: (row: string) => Readonly<Record<string, string | boolean>>;
}

/**
 * Creates a reader for the rows below a header.
 * @param header first row; the separator is the one that splits the header into the most columns
 * @throws Error if the header is not CSV
 */
export function csvReader(header: string): CsvReader {
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
  const isMarked = names.includes('completion') || names.includes('messages');
  const read: CsvReader['read'] = (row) => {
    const cells = cellsOf(row, separator);
    if (cells.length !== names.length)
      throw new Error(`it has ${cells.length} cells, and the header ${names.length}`);
    return Object.fromEntries(
      names.flatMap((name, i) =>
        cells[i] ? [[name, name === 'label' && isMarked ? markOf(cells[i]) : cells[i]]] : [],
      ),
    );
  };
  return { separator, read };
}

/** Returns the mark of an answer as a boolean. Other texts stay. */
function markOf(cell: string): string | boolean {
  const text = cell.toLowerCase();
  return ['true', 'false'].includes(text) ? text === 'true' : cell;
}

/**
 * Splits a row into its cells.
 * @throws Error if text follows the closing quote of a cell, or a quote is not closed
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
