/** Growing columns of numbers, a few bytes per row. */

interface NumberArray {
  [index: number]: number;
  fill(value: number): NumberArray;
}

export interface Column {
  readonly set: (index: number, value: number) => void;
  /** Value of a row; the column's placeholder if none was set. */
  readonly at: (index: number) => number;
}

/**
 * Number of rows in a block, as an exponent of 2. Columns grow by whole blocks, without copying
 * existing ones. A block without values takes no memory.
 */
const blockBits = 14;
const blockSize = 1 << blockBits;

function column(create: (length: number) => NumberArray, none: number): Column {
  const blocks: (NumberArray | undefined)[] = [];
  return {
    set: (index, value) => {
      const place = index >> blockBits;
      if (Object.is(value, none) && blocks[place] === undefined) return;
      const block = (blocks[place] ??= create(blockSize).fill(none));
      block[index & (blockSize - 1)] = value;
    },
    at: (index) => blocks[index >> blockBits]?.[index & (blockSize - 1)] ?? none,
  };
}

export const integers = (none = 0): Column => column((length) => new Int32Array(length), none);
export const floats = (): Column => column((length) => new Float32Array(length), Number.NaN);
/** Creates a column of numbers up to 2^53. */
export const largeIntegers = (): Column => column((length) => new Float64Array(length), 0);
/** Creates a column of numbers from 0 to 65,535. Larger numbers are stored as 65,535. */
export function smallIntegers(): Column {
  const inner = column((length) => new Uint16Array(length), 0);
  return { ...inner, set: (index, value) => inner.set(index, Math.min(value, 65_535)) };
}

/**
 * Column of strings that often repeat. Each distinct string is stored once and has a numeric code.
 */
export interface TextColumn {
  readonly set: (index: number, text: string | undefined) => void;
  readonly at: (index: number) => string | undefined;
  /** Code of the string of each row; 0 if there is no string. */
  readonly codes: Column;
  /** Code of a string; undefined if no row has the string. */
  readonly codeOf: (text: string) => number | undefined;
  /** Returns all distinct strings with their codes. */
  readonly texts: () => Iterable<readonly [text: string, code: number]>;
}

export function textColumn(): TextColumn {
  const texts: (string | undefined)[] = [undefined];
  const known = new Map<string, number>();
  const codes = integers();
  const codeFor = (text: string): number => {
    const code = known.get(text) ?? texts.push(text) - 1;
    known.set(text, code);
    return code;
  };
  return {
    codes,
    set: (index, text) => codes.set(index, text === undefined ? 0 : codeFor(text)),
    at: (index) => texts[codes.at(index)],
    codeOf: (text) => known.get(text),
    texts: () => known,
  };
}
